/** The JSON of `/api/NAME.json`; throws unless the response is successful. */
export async function api(name) {
  const response = await fetch(`/api/${name}.json`);
  if (!response.ok) throw new Error(`/api/${name}.json: status ${response.status}`);
  return response.json();
}

/** Creates an element with attributes and children. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
