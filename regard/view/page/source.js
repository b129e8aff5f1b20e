// Where data comes from: the server of the page, or the page itself if it was exported as one file.

const embedded = document.getElementById("data");
const answers = embedded ? JSON.parse(embedded.textContent) : null;

export const isFile = answers !== null;

function withQuery(path, query) {
  const present = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  const text = new URLSearchParams(present.map(([name, value]) => [name, String(value)])).toString();
  return text ? `${path}?${text}` : path;
}

async function read(response) {
  const answer = await response.json().catch(() => ({ error: `the server answered with status ${response.status}` }));
  if (!response.ok) throw new Error(answer.error || JSON.stringify(answer.detail || answer));
  return answer;
}

export async function getJSON(path, query = {}) {
  const address = withQuery(path, query);
  if (!isFile) return read(await fetch(address));
  if (!(address in answers)) throw new Error("this file does not contain that; run `regard view` without --export");
  return answers[address];
}

export async function recordInput(run, input) {
  if (isFile) return getJSON(`api/runs/${run}/record`);
  const headers = { "Content-Type": "application/json" };
  return read(await fetch(`api/runs/${run}/record`, { method: "POST", headers, body: JSON.stringify(input) }));
}

const MAX_BYTES = 32 * 2 ** 20; // of a file; checked here because a server that refuses more does not read to the end

// Uploads an image, an alignment or a structure; the answer has the digest that names it from then on.
export async function uploadFile(kind, file) {
  if (file.size > MAX_BYTES) {
    const [size, limit] = [file.size, MAX_BYTES].map((bytes) => bytes.toLocaleString("en"));
    throw new Error(`${file.name}: has ${size} bytes, more than ${limit}`);
  }
  const headers = { "Content-Type": "application/octet-stream" };
  return read(await fetch(withQuery(`api/files/${kind}`, { name: file.name }), { method: "POST", headers, body: file }));
}

// A file contains whole heads; a server is asked only for the part that is on screen.
export function getHead(id, attention, head, part) {
  return getJSON(`api/recordings/${id}/head`, isFile ? { attention, head } : { attention, head, ...part });
}

export function unpack({ rows, columns, values }) {
  const bytes = Uint8Array.from(atob(values), (letter) => letter.charCodeAt(0));
  return { rows, columns, values: new Float32Array(bytes.buffer) };
}
