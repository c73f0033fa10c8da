// Custom elements with open shadow roots: named slots, slots with fallback content, nested elements.
import { api, element } from '../api.js';

class LampCard extends HTMLElement {
  connectedCallback() {
    this.attachShadow({ mode: 'open' }).innerHTML = `
      <style>article { border: 1px solid }</style>
      <article>
        <h2><slot name="name"></slot></h2>
        <slot></slot>
        <p><slot name="price">Ask at the counter for the price.</slot></p>
      </article>`;
  }
}

class LampShelf extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({ mode: 'open' });
    const lead = `This shelf carries ${this.children.length} lamps behind glass.`;
    root.append(element('p', {}, lead), element('slot'));
  }
}

customElements.define('lamp-card', LampCard);
customElements.define('lamp-shelf', LampShelf);

const { items } = await api('items');
const cards = items.slice(0, 3).map((item) => {
  const card = element('lamp-card', {}, element('span', { slot: 'name' }, item.name), element('p', {}, item.text));
  // The last one has no price: its slot shows the fallback content.
  if (item.id < 3) card.append(element('span', { slot: 'price' }, `${item.euros} euros a piece.`));
  return card;
});
const lead = `Of ${items.length} lamps these ${cards.length} are not for touching.`;
document.getElementById('app').append(element('p', {}, lead), element('lamp-shelf', {}, ...cards));
