// A row of a table: a field for each column, then the prediction of each target.
function task({ columns, targets }) {
  const fields = columns.map((column) => {
    let field = make("input", { placeholder: "unknown" });
    if (column.kind === "number") Object.assign(field, { type: "number", step: "any" });
    if (column.kind === "date") field.type = column.has_time ? "datetime-local" : "date";
    if (column.kind === "category") {
      field = make("select", {}, make("option", { value: "" }, "unknown"),
        ...column.categories.map((category, code) => make("option", { value: String(code) }, String(category))));
    }
    field.name = column.name;
    form.append(make("label", {}, column.name), field);
    return field;
  });
  form.append(make("button", { className: "wide" }, "Predict"));
  return async ({ session, tensor }) => {
    const values = columns.flatMap((column, place) => encode(column, fields[place].value));
    const outputs = await session.run({ values: tensor("float32", Float32Array.from(values), [1, values.length]) });
    answer.replaceChildren(...targets.flatMap((target) => show(target, outputs[target.output].data)));
  };
}

// What the graph reads of a cell: a number, the code of a category, or the parts of a date; NaN if it is unknown.
function encode(column, text) {
  if (column.kind !== "date") return [text === "" || !column.filled ? NaN : Number(text)];
  const parts = column.has_time ? 5 : 4;
  if (text === "") return Array(parts).fill(NaN);
  const date = new Date(`${text.length > 10 ? text : `${text}T00:00`}Z`);
  const days = date.getTime() / 86400000;
  const weekday = (date.getUTCDay() + 6) % 7;
  return [days, date.getUTCFullYear(), date.getUTCMonth() + 1, weekday, days - Math.floor(days)].slice(0, parts);
}

function show(target, data) {
  const heading = make("h2", {}, target.name);
  if (target.classes) return [heading, bars(target.classes.map((name, place) => [name, data[place]]))];
  const at = (level) => data[1 + target.levels.reduce((best, each, place) =>
    (Math.abs(each - level) < Math.abs(target.levels[best] - level) ? place : best), 0)];
  const [low, high] = [at(0.05), at(0.95)].map((number) => plain(number, 4));
  return [heading, make("p", {}, "predicted: ", make("strong", {}, plain(data[0], 6)), ` (90% interval ${low} to ${high})`)];
}

// With thousands separators, as in 332,756.
function plain(number, digits) {
  return number.toLocaleString("en-US", { maximumSignificantDigits: digits });
}

start();
