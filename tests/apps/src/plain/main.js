// No framework: one fetch, then elements.
import { api, element } from '../api.js';

const { shop, items } = await api('items');
const first = items[0];
document.getElementById('app').append(
  element('h1', {}, shop),
  element('p', {}, `First in the list of ${items.length} is the ${first.name.toLowerCase()}.`),
  element('ul', {}, ...items.map((item) => element('li', {}, `${item.name}: ${item.text}`))),
);
