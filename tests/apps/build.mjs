// node build.mjs OUT: builds all pages into the folder OUT, which any static file server can serve.
import { readFile, mkdir, writeFile, cp, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { compile as compileSvelte } from 'svelte/compiler';
import { compileScript, parse as parseVue } from 'vue/compiler-sfc';

const [out] = process.argv.slice(2);
if (!out) throw new Error('usage: node build.mjs OUT');

/** Number of letters in the infinite list, and per page of it. */
const LETTERS = 100;
const LETTERS_PER_PAGE = 20;

/** Allowed licences of packages. */
const LICENCES = new Set(['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD']);

const { items } = JSON.parse(await readFile('api/items.json', 'utf8'));

/** Bundle → its source and the pages that load it: a static file server needs a copy for every route. */
const BUNDLES = {
  'react/bundle': {
    source: 'src/react/main.jsx',
    pages: ['react/', 'react/about/', ...items.map(({ id }) => `react/items/${id}/`)],
  },
  'vue/bundle': { source: 'src/vue/main.js', pages: ['vue/'] },
  'svelte/bundle': { source: 'src/svelte/main.js', pages: ['svelte/'] },
  plain: { source: 'src/plain/main.js', pages: ['plain.html'] },
  'endless/bundle': { source: 'src/endless/main.js', pages: ['endless/'] },
  'form/bundle': { source: 'src/form/main.js', pages: ['form/'] },
  'elements/bundle': { source: 'src/elements/main.js', pages: ['elements/'] },
  'frame/bundle': { source: 'src/frame/main.js', pages: ['frame/'] },
  'frame/inner/bundle': { source: 'src/frame/inner.js', pages: ['frame/inner/'] },
};

/** An esbuild plugin for files that are compiled to JavaScript. */
const compiler = (name, filter, compile) => ({
  name,
  setup: ({ onLoad }) =>
    onLoad({ filter }, async ({ path }) => ({ contents: compile(await readFile(path, 'utf8'), path), loader: 'js' })),
});

const svelte = compiler(
  'svelte',
  /\.svelte$/,
  (source, filename) => compileSvelte(source, { filename, generate: 'client', css: 'injected' }).js.code,
);

const vue = compiler('vue', /\.vue$/, (source, filename) => {
  const { descriptor, errors } = parseVue(source, { filename });
  if (errors.length > 0) throw errors[0];
  return compileScript(descriptor, { id: 'page', inlineTemplate: true }).content;
});

async function write(path, text) {
  const file = join(out, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

/** The file that a static file server serves for a page. */
const fileOf = (page) => (page.endsWith('/') ? `${page}index.html` : page);

async function bundle(name, source) {
  await build({
    entryPoints: { [name]: source },
    outdir: out,
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    chunkNames: `${dirname(name)}/chunk-[hash]`,
    minify: true,
    jsx: 'automatic',
    plugins: [svelte, vue],
    define: {
      'process.env.NODE_ENV': '"production"',
      __VUE_OPTIONS_API__: 'false',
      __VUE_PROD_DEVTOOLS__: 'false',
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
    },
  });
}

async function letters() {
  const pages = LETTERS / LETTERS_PER_PAGE;
  for (let page = 1; page <= pages; page += 1) {
    const first = (page - 1) * LETTERS_PER_PAGE + 1;
    const texts = Array.from({ length: LETTERS_PER_PAGE }, (_, index) => {
      const item = items[(first + index) % items.length];
      return `Letter ${first + index} praises the ${item.name.toLowerCase()}.`;
    });
    await write(`api/letters/${page}.json`, JSON.stringify({ letters: texts, pages, total: LETTERS }));
  }
}

/** Fails on a package whose licence is not allowed. */
async function checkLicences() {
  const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8'));
  for (const [path, { license }] of Object.entries(packages)) {
    if (path !== '' && !LICENCES.has(license)) throw new Error(`${path}: licence \`${license}\` is not listed`);
  }
}

/** Fails on a missing page, and on a page whose expected text is already in its HTML. */
async function checkExpected() {
  for (const { path, text, then } of JSON.parse(await readFile('expected.json', 'utf8'))) {
    const html = await readFile(join(out, fileOf(path)), 'utf8');
    for (const wanted of [text, then?.text]) {
      if (wanted && html.includes(wanted)) throw new Error(`${path}: \`${wanted}\` is there without any script`);
    }
  }
}

await checkLicences();
const shell = await readFile('shell.html', 'utf8');
for (const [name, { source, pages }] of Object.entries(BUNDLES)) {
  await bundle(name, source);
  for (const page of pages) await write(fileOf(page), shell.replace('BUNDLE', `/${name}.js`));
}
await cp('api', join(out, 'api'), { recursive: true });
await letters();
await checkExpected();
console.log(`${(await readdir(out, { recursive: true })).length} files and folders`);
