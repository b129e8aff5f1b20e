// Data of the page is gzip in base64: the runtime's WebAssembly, and the graphs.
async function unpack(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const settings = JSON.parse(document.getElementById("settings").textContent);
const form = document.getElementById("form");
const answer = document.getElementById("answer");
const status = document.getElementById("status");

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// Names with numbers and bars, the largest first.
function bars(rows) {
  const largest = Math.max(...rows.map(([, number]) => number), 1e-9);
  const lines = [...rows].sort((one, other) => other[1] - one[1]).slice(0, 12).map(([name, number]) => {
    const bar = make("div");
    bar.style.width = `${(100 * number) / largest}%`;
    return make("tr", {}, make("td", {}, String(name)), make("td", {}, `${(100 * number).toFixed(1)} %`),
      make("td", { className: "bar" }, bar));
  });
  return make("table", {}, ...lines);
}

function softmax(scores) {
  const largest = scores.reduce((one, other) => Math.max(one, other));
  const odds = Array.from(scores, (score) => Math.exp(score - largest));
  const sum = odds.reduce((one, other) => one + other);
  return odds.map((each) => each / sum);
}

async function openModel() {
  const source = new TextDecoder().decode(await unpack("runtime"));
  const ort = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmBinary = (await unpack("wasm")).buffer;
  const session = await ort.InferenceSession.create(await unpack("model"));
  const tensor = (type, data, shape) => new ort.Tensor(type, data, shape);
  return { session, tensor };
}

// Every kind of page has a function `task` that fills the form and returns what to do when it is sent.
async function start() {
  const model = openModel();
  model.catch(() => {}); // reported below
  const run = task(settings);
  form.addEventListener("submit", (event) => event.preventDefault());
  try {
    const opened = await model;
    status.textContent = "";
    const again = async () => {
      try {
        await run(opened);
        document.body.dataset.answered = String(Number(document.body.dataset.answered || 0) + 1);
      } catch (error) {
        status.textContent = String(error.message || error);
      }
    };
    form.addEventListener("submit", again);
    document.body.dataset.ready = "yes";
  } catch (error) {
    status.textContent = `The model cannot run in this browser: ${error.message || error}`;
  }
}
