// The OpenAPI document as a page: each route with the fields of its body.

function element(name, text, ...children) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}

function kind(schema) {
  if (schema.anyOf) return schema.anyOf.map(kind).filter((one) => one !== "null").join(" | ");
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.type === "array") return `[${kind(schema.items ?? {})}]`;
  return schema.enum?.join(" | ") ?? schema.const ?? schema.type ?? "any";
}

function fields(schema) {
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const needed = schema.required?.includes(name) ? "needed" : field.default === undefined ? "" : JSON.stringify(field.default);
    return element("tr", "", element("td", name), element("td", kind(field)), element("td", needed), element("td", field.description));
  });
  return element("table", "", element("tr", "", ...["field", "type", "default", ""].map((title) => element("th", title))), ...rows);
}

const api = await (await fetch("openapi.json")).json();
for (const [path, methods] of Object.entries(api.paths)) {
  for (const [method, route] of Object.entries(methods)) {
    const reference = route.requestBody?.content["application/json"].schema.$ref;
    const section = element("section", "", element("h2", `${method.toUpperCase()} ${path}`), element("p", route.description));
    if (reference) section.append(fields(api.components.schemas[reference.split("/").pop()]));
    document.getElementById("routes").append(section);
  }
}
