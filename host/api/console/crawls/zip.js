// Archives made in the page: files of a zip that are stored as they are, and rows of a CSV.

const TABLE = new Uint32Array(256).map((_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

/** The checksum of a file in a zip. */
export function crc32(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) value = TABLE[(value ^ byte) & 255] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

/** Numbers as bytes, the lowest first: `[value, bytes]` each. */
function little(...numbers) {
  const view = new DataView(new ArrayBuffer(numbers.reduce((sum, [, size]) => sum + size, 0)));
  let at = 0;
  for (const [value, size] of numbers) {
    if (size === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += size;
  }
  return new Uint8Array(view.buffer);
}

/** Files that one archive can have, and its bytes: it has no 64-bit numbers. */
const FILES_MAX = 65_535;
const BYTES_MAX = 0xffffffff;

/** An archive that grows file by file. */
export class Zip {
  #parts = [];
  #directory = [];
  /** The names in lower case; for each the last number that one like it got. */
  #names = new Map();
  #at = 0;
  #stamp;

  /** `now` is the time that all files get. */
  constructor(now = new Date()) {
    const date = ((now.getFullYear() - 1980) << 9) | ((now.getMonth() + 1) << 5) | now.getDate();
    this.#stamp = [[(now.getHours() << 11) | (now.getMinutes() << 5) | (now.getSeconds() >> 1), 2], [date, 2]];
  }

  get length() {
    return this.#directory.length;
  }

  /** Adds a text. A name that is there already gets a number. */
  add(name, text) {
    const path = new TextEncoder().encode(this.#free(name));
    const content = new TextEncoder().encode(text);
    const size = 30 + path.length + content.length;
    if (this.length >= FILES_MAX || this.#at + size > BYTES_MAX) {
      throw new Error("a zip has at most 65,535 files and 4 GB: download JSON lines instead");
    }
    // Version 2.0, names in UTF-8, stored, time; then checksum and both sizes.
    const common = little([20, 2], [0x0800, 2], [0, 2], ...this.#stamp, [crc32(content), 4],
      [content.length, 4], [content.length, 4], [path.length, 2], [0, 2]);
    this.#parts.push(little([0x04034b50, 4]), common, path, content);
    const place = little([0, 2], [0, 2], [0, 2], [0, 4], [this.#at, 4]);
    this.#directory.push([little([0x02014b50, 4], [20, 2]), common, place, path]);
    this.#at += size;
  }

  /** The archive. */
  blob() {
    const directory = this.#directory.flat();
    const bytes = directory.reduce((sum, part) => sum + part.length, 0);
    const end = little([0x06054b50, 4], [0, 2], [0, 2], [this.length, 2], [this.length, 2], [bytes, 4], [this.#at, 4], [0, 2]);
    return new Blob([...this.#parts, ...directory, end], { type: "application/zip" });
  }

  #free(name) {
    const like = name.toLowerCase();
    let [free, n] = [name, this.#names.get(like) ?? 1];
    while (this.#names.has(free.toLowerCase())) {
      n += 1;
      free = name.replace(/(\.[a-z]+)?$/, ` ${n}$1`);
    }
    this.#names.set(free.toLowerCase(), 1);
    this.#names.set(like, n);
    return free;
  }
}

/** Characters that no file system takes in a name, and what a shell or a browser may misread. */
const UNSAFE = /[\u0000-\u001f\u007f"*:<>?\\|\u202a-\u202e\u2066-\u2069]/g;

/** The name of the file of a page: host and path of its URL, without what leads elsewhere. */
export function fileName(url, ending) {
  let at;
  try {
    at = new URL(url);
  } catch {
    return `page${ending}`;
  }
  const plain = (part) => {
    let text = part;
    try {
      text = decodeURIComponent(part);
    } catch {
      // It stays as it is written.
    }
    const safe = text.replaceAll("/", "_").replace(UNSAFE, "_").replace(/^[. ]+|[. ]+$/g, "_");
    return safe.slice(0, 80);
  };
  const parts = at.pathname.split("/").filter((part) => part !== "").map(plain);
  if (at.pathname.endsWith("/") || parts.length === 0) parts.push("index");
  if (at.search !== "") parts.push(`${parts.pop()}_${plain(at.search.slice(1))}`);
  return `${[plain(at.host), ...parts].join("/").slice(0, 220)}${ending}`;
}

/**
 * A line of a CSV. A text that a spreadsheet would calculate gets an apostrophe before it: what a
 * page says is not a formula.
 */
export const csvLine = (cells) =>
  `${cells.map((cell) => {
    const text = cell === null || cell === undefined ? "" : typeof cell === "object" ? JSON.stringify(cell) : String(cell);
    const safe = typeof cell !== "number" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }).join(",")}\r\n`;
