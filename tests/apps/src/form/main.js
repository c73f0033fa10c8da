// A form whose result appears on the page after a fetch.
import { api, element } from '../api.js';

const name = element('input', { id: 'name', name: 'name', required: '' });
const amount = element('input', { id: 'amount', name: 'amount', type: 'number', min: '1', required: '' });
const result = element('p', { id: 'result' });
const form = element(
  'form',
  { id: 'order' },
  element('label', { for: 'name' }, 'Name'),
  name,
  element('label', { for: 'amount' }, 'Lamps'),
  amount,
  element('button', { id: 'send', type: 'submit' }, 'Order'),
);

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const { number, day } = await api('order');
  result.textContent = `Order ${number}: ${name.value} gets ${amount.value} lamps on ${day}.`;
});

const fields = form.querySelectorAll('input').length;
const lead = `These ${fields} fields are all we ask of you.`;
document.getElementById('app').append(element('p', {}, lead), form, result);
