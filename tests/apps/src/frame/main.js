// A page with a frame of the same origin.
import { element } from '../api.js';

const frame = element('iframe', { src: '/frame/inner/', width: '600', height: '300' });
const lead = `There is ${document.querySelectorAll('iframe').length + 1} window in this wall.`;
document.getElementById('app').append(element('p', {}, lead), frame);
