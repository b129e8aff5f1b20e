// Try a model: one form for every route. Texts of language models come as a stream.

const at = (id) => document.getElementById(id);
const IMAGES = "image to classify";
let models = [];
let running = null;

const current = () => models.find((model) => model.id === at("model").value);
const isText = (route) => route === "completions" || route === "chat/completions";

function fill(select, names) {
  select.replaceChildren(...names.map((name) => new Option(name, name)));
}

function chooseModel() {
  const model = current();
  fill(at("route"), model?.routes ?? []);
  at("hint").textContent = model ? `${model.kind ?? ""} · ${model.state}${model.hint ? " · " + model.hint : ""}` : "";
  chooseRoute();
}

function chooseRoute() {
  const model = current(), route = at("route").value;
  const images = model?.hint?.includes(IMAGES);
  at("writing").hidden = !isText(route);
  at("file-row").hidden = !images;
  at("input").parentElement.hidden = images;
  at("what").textContent = route === "predict" ? "a row, as JSON" : "input";
  if (route === "predict" && model) at("input").value = JSON.stringify(model.example, null, 2);
  show();
}

async function body() {
  const model = at("model").value, route = at("route").value, text = at("input").value;
  const writing = { max_tokens: Number(at("tokens").value), temperature: Number(at("temperature").value), stream: true };
  if (route === "completions") return { model, prompt: text, ...writing };
  if (route === "chat/completions") return { model, messages: [{ role: "user", content: text }], ...writing };
  if (route === "predict") return { model, rows: [JSON.parse(text)], evidence: 3 };
  if (!at("file-row").hidden) {
    const image = await encoded(at("file").files[0]);
    return route === "attention" ? { model, image } : { model, images: [image] };
  }
  return { model, input: text };
}

function encoded(file) {
  if (!file) throw new Error("choose an image file");
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.split(",")[1]);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

async function show() {
  try {
    const sent = at("file-row").hidden ? await body() : { model: at("model").value, images: ["…"] };
    const quoted = JSON.stringify(sent).replaceAll("'", "'\\''");
    const url = new URL("v1/" + at("route").value, location.href);
    at("curl").textContent = `curl ${url} -H 'Content-Type: application/json' -d '${quoted}'`;
  } catch {
    at("curl").textContent = "";
  }
}

async function send(event) {
  event.preventDefault();
  at("error").textContent = at("answer").textContent = "";
  running = new AbortController();
  at("stop").disabled = false;
  try {
    const sent = await body();
    const answer = await fetch("v1/" + at("route").value, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(sent), signal: running.signal,
    });
    if (!answer.ok) throw new Error((await answer.json()).error.message);
    if (sent.stream) await stream(answer);
    else at("answer").textContent = JSON.stringify((await answer.json()).data, null, 2);
  } catch (error) {
    if (error.name !== "AbortError") at("error").textContent = error.message;
  }
  at("stop").disabled = true;
}

async function stream(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line === "data: [DONE]") return;
      const event = JSON.parse(line.slice(6));
      if (event.error) throw new Error(event.error.message);
      const choice = event.choices[0];
      at("answer").textContent += choice?.text ?? choice?.delta?.content ?? "";
    }
  }
}

async function start() {
  models = (await (await fetch("v1/models")).json()).data;
  const chosen = at("model").value;
  fill(at("model"), models.map((model) => model.id));
  if (chosen) at("model").value = chosen;
  chooseModel();
  if (models.some((model) => model.state === "loading")) setTimeout(start, 1000);
}

at("model").addEventListener("change", chooseModel);
at("route").addEventListener("change", chooseRoute);
for (const id of ["input", "tokens", "temperature"]) at(id).addEventListener("input", show);
at("form").addEventListener("submit", send);
at("stop").addEventListener("click", () => running?.abort());
start();
