// Where answers come from: the server that gave the page, or the page itself where it was exported as one file.

const kept = document.getElementById("data");
const answers = kept ? JSON.parse(kept.textContent) : null;

export const isFile = answers !== null;

function address(path, query) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  const words = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return words ? `${path}?${words}` : path;
}

async function read(response) {
  const answer = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
  if (!response.ok) throw new Error(answer.error || JSON.stringify(answer.detail || answer));
  return answer;
}

export async function ask(path, query = {}) {
  const whole = address(path, query);
  if (!isFile) return read(await fetch(whole));
  if (!(whole in answers)) throw new Error("this is not in the file");
  return answers[whole];
}

export async function recordInput(run, given) {
  if (isFile) return ask(`api/runs/${run}/record`);
  const body = JSON.stringify(given);
  const headers = { "Content-Type": "application/json" };
  return read(await fetch(`api/runs/${run}/record`, { method: "POST", headers, body }));
}

const MAX_BYTES = 32 * 2 ** 20; // bytes of a file; a server that refuses more would not read to the end to say so

// A picture is sent once, and then called by the digest that the server knows it by.
export async function sendPicture(file) {
  if (file.size > MAX_BYTES) {
    const [size, most] = [file.size, MAX_BYTES].map((bytes) => bytes.toLocaleString("en"));
    throw new Error(`${file.name}: has ${size} bytes, more than ${most}`);
  }
  const headers = { "Content-Type": "application/octet-stream" };
  return read(await fetch(address("api/images", { name: file.name }), { method: "POST", headers, body: file }));
}

// The whole of a head is in a file; a server is asked for the part that is on screen.
export function askHead(id, look, head, part) {
  return ask(`api/recordings/${id}/head`, isFile ? { attention: look, head } : { attention: look, head, ...part });
}

export function unpack({ rows, columns, values }) {
  const bytes = Uint8Array.from(atob(values), (letter) => letter.charCodeAt(0));
  return { rows, columns, values: new Float32Array(bytes.buffer) };
}
