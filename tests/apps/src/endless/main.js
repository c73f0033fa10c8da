// An infinite list: the next page is fetched whenever its end becomes visible.
import { api, element } from '../api.js';

const list = element('ol');
const end = element('p', { id: 'end' }, 'Loading');
document.getElementById('app').append(element('h1', {}, 'Letters to the shop'), list, end);

let page = 0;

/** Appends the next page and returns whether there is another one. */
async function more() {
  page += 1;
  const { letters, pages, total } = await api(`letters/${page}`);
  // One page of the list is taller than a window.
  list.append(...letters.map((text) => element('li', { style: 'height: 6rem' }, text)));
  const isLast = page === pages;
  end.textContent = isLast
    ? `The last of ${total} letters has been opened.`
    : `${list.children.length} of ${total} letters have been opened.`;
  return !isLast;
}

const sight = new IntersectionObserver(async (entries) => {
  if (!entries.at(-1).isIntersecting) return;
  // Observed again afterwards, so that an end that is still visible is reported again.
  sight.unobserve(end);
  if (await more()) sight.observe(end);
});
sight.observe(end);
