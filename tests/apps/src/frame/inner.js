import { api, element } from '../api.js';

const { items } = await api('items');
const last = items.at(-1).name.toLowerCase();
document.getElementById('app').append(element('p', {}, `Through the window one sees the ${last}.`));
