# regard on a CPU: the command line, and by default its server.
#
#     docker build -t regard .
#     docker run --rm -p 8000:8000 -v "$PWD/runs:/data/runs:ro" regard serve runs/lm --host 0.0.0.0
#     docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" regard fit houses.csv --target price --out runs/prices
FROM python:3.11-slim AS build
WORKDIR /source
RUN python -m venv /opt/regard
# The CPU build of torch, which is smaller by gigabytes; constraints.txt has the versions that are tested.
RUN /opt/regard/bin/pip install --no-cache-dir torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY regard ./regard
RUN /opt/regard/bin/pip install --no-cache-dir --constraint constraints.txt '.[files,images,metrics,serve]'

FROM python:3.11-slim
# torch's OpenMP library.
RUN apt-get update && apt-get install --yes --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 1000 regard && mkdir /data && chown regard /data
COPY --from=build /opt/regard /opt/regard
ENV PATH=/opt/regard/bin:$PATH PYTHONUNBUFFERED=1
USER regard
WORKDIR /data
EXPOSE 8000
ENTRYPOINT ["regard"]
CMD ["--help"]
