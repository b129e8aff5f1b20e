// A language model: the text so far, and what the model writes after it, token by token.
function task({ tokenizer, before, empty, ends, max_tokens: most }) {
  const words = makeTokenizer(tokenizer);
  const prompt = make("textarea", { className: "wide", rows: 4, name: "prompt" });
  const heat = make("input", { type: "number", min: 0, max: 2, step: 0.1, value: 0.8, name: "temperature" });
  const count = make("input", { type: "number", min: 1, max: 2000, value: most, name: "tokens" });
  form.append(prompt, make("label", {}, "temperature (0: always the likeliest)"), heat, make("label", {}, "tokens"), count,
    make("button", { className: "wide" }, "Write"));
  return async ({ session, tensor }) => {
    const read = [...before, ...words.encode(prompt.value)];
    const tokens = read.length ? read : [...empty];
    const written = make("span", { className: "written" });
    answer.replaceChildren(make("p", { className: "text" }, prompt.value, written));
    let past = {};
    for (const each of session.inputMetadata) {
      if (each.name.startsWith("past")) {
        const shape = each.shape.map((size) => (typeof size === "number" ? size : Number(size === "batch")));
        past[each.name] = tensor("float32", new Float32Array(shape.reduce((a, b) => a * b)), shape);
      }
    }
    let [fresh, total, ids] = [tokens, 0, []];
    const integers = (list, shape) => tensor("int64", BigInt64Array.from(list, BigInt), shape);
    while (ids.length < Number(count.value)) {
      const positions = fresh.map((_, place) => total + place);
      total += fresh.length;
      const feeds = { input_ids: integers(fresh, [1, fresh.length]), ...past };
      if (session.inputNames.includes("position_ids")) {
        feeds.position_ids = integers(positions, [1, fresh.length]);
        feeds.attention_mask = integers(Array(total).fill(1), [1, total]);
      }
      const outputs = await session.run(feeds);
      past = Object.fromEntries(Object.entries(outputs).filter(([name]) => name !== "logits").map(([name, value]) =>
        [name.replace("present", name.split(".").length > 2 ? "past_key_values" : "past"), value]));
      const { data, dims } = outputs.logits;
      const token = choose(data.subarray(data.length - dims[2]), Number(heat.value));
      if (ends.includes(token)) break;
      ids.push(token);
      fresh = [token];
      written.textContent = words.decode(ids);
      await new Promise((resolve) => setTimeout(resolve)); // so that the page shows it
    }
  };
}

function choose(scores, temperature) {
  if (temperature < 1e-6) return scores.reduce((best, score, place) => (score > scores[best] ? place : best), 0);
  let left = Math.random();
  const chances = softmax(Array.from(scores, (score) => score / temperature));
  const place = chances.findIndex((chance) => (left -= chance) < 0);
  return place < 0 ? chances.length - 1 : place;
}

// Characters, or byte-level BPE: pieces by id, and the ranks of merges.
function makeTokenizer({ kind, pieces, merges, unknown, pattern }) {
  const ids = new Map(pieces.map((piece, id) => [piece, id]).filter(([piece]) => piece !== null));
  if (kind === "characters") {
    return {
      encode: (text) => Array.from(text, (letter) => ids.get(letter) ?? unknown),
      decode: (tokens) => tokens.map((token) => pieces[token] ?? "").join(""),
    };
  }
  const ranks = new Map(merges.map((merge, rank) => [merge.join(" "), rank]));
  const letters = byteLetters();
  const bytes = new Map(letters.map((letter, byte) => [letter, byte]));
  const split = new RegExp(pattern, "gu");
  const merge = (word) => {
    for (;;) {
      const pairs = word.slice(1).map((piece, place) => ranks.get(`${word[place]} ${piece}`) ?? Infinity);
      const best = Math.min(...pairs);
      if (best === Infinity || !pairs.length) return word;
      const place = pairs.indexOf(best);
      word = [...word.slice(0, place), word[place] + word[place + 1], ...word.slice(place + 2)];
    }
  };
  return {
    encode: (text) => (text.match(split) || []).flatMap((word) =>
      merge(Array.from(new TextEncoder().encode(word), (byte) => letters[byte])).map((piece) => ids.get(piece) ?? unknown)),
    decode: (tokens) => new TextDecoder().decode(Uint8Array.from(
      tokens.flatMap((token) => Array.from(pieces[token] ?? "", (letter) => bytes.get(letter))))),
  };
}

// The letter that stands for each byte: printable ones for themselves, the others beyond 255.
function byteLetters() {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    return String.fromCodePoint(printable ? byte : next++);
  });
}

start();
