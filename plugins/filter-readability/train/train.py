#!/usr/bin/env python3
"""Trains the model of the filter and writes src/model.rs; see README.md.

  train.py --data DIR --dump PROGRAM --work DIR [--folds 5] [--export src/model.rs]
"""
import argparse, gzip, json, re, subprocess
from collections import Counter
from pathlib import Path

import numpy as np
from catboost import CatBoostClassifier, Pool
from rapidfuzz.distance import LCSseq

WORD = re.compile(r"\w+")
SHINGLE = 4
CAUTION = 1.2      # as in src/choose.rs
N_MODELS = 3       # averaged
HEAVY = 0.003      # blocks of less weight are sampled in proportion to it, and then have this weight
AGAIN = 0.3        # weight of a page without its boilerplate
LOST_MAX = 0.1     # share of the words of such a page that may be lost
DEPTH = 6
PARAMETERS = dict(loss_function="CrossEntropy", depth=DEPTH, iterations=130, learning_rate=0.13, l2_leaf_reg=5, border_count=64,
                  bootstrap_type="Bernoulli", subsample=0.8, rsm=0.4, thread_count=2, verbose=False,
                  allow_writing_files=False)


def words(text):
    return WORD.findall((text or "").lower())


def read_truths(data):
    """Page id -> (page type, words of the main content, URL), for the development split of WCXB."""
    truths = {}
    for file in sorted((data / "dev" / "ground-truth").glob("*.json")):
        page = json.loads(file.read_text("utf-8"))
        kind = ((page.get("_internal") or {}).get("page_type") or {}).get("primary", "article")
        truths[file.stem] = (kind, words(page["ground_truth"].get("main_content")), page.get("url") or "https://example.com/")
    return truths


def write_pages(data, truths, work):
    """Writes the pages to `work`; returns the list that the program reads."""
    lines = []
    for at, (page, (_, _, url)) in enumerate(truths.items()):
        if at % 2:      # like a mirror: only the end of the URL belongs to the page
            url = f"http://127.0.0.1/dev-{page}/" + url.split("://")[-1].partition("/")[2]
        html = work / f"{page}.html"
        html.write_bytes(gzip.decompress((data / "dev" / "html" / f"{page}.html.gz").read_bytes()))
        lines.append(f"{page}\t{url.strip()}\t{html}\n")
    return "".join(lines)


def read_blocks(dump, mode, work, lines):
    """Runs the program that segments pages into blocks; returns the pages and the feature matrix."""
    subprocess.run([dump, mode, str(work / mode)], input=lines, text=True, check=True)
    pages = [json.loads(line) for line in open(work / f"{mode}.jsonl", encoding="utf-8")]
    width = next(page["width"] for page in pages if page["blocks"])
    return pages, np.fromfile(work / f"{mode}.f32", dtype="<f4").reshape(-1, width)


def labels(blocks, truth):
    """For each block the share of its words in the main content: those in a longest common subsequence
    of page and ground truth, or in shingles of it if the ground truth has a different order."""
    numbers, sequence, owners = {}, [], []
    for at, block in enumerate(blocks):
        for word in block:
            sequence.append(numbers.setdefault(word, len(numbers)))
            owners.append(at)
    hits = np.zeros(len(blocks))
    for step in LCSseq.opcodes(sequence, [numbers.setdefault(word, len(numbers)) for word in truth]):
        if step.tag == "equal":
            for place in range(step.src_start, step.src_end):
                hits[owners[place]] += 1
    part = hits / np.maximum([len(block) for block in blocks], 1)
    runs = set(zip(*(truth[n:] for n in range(SHINGLE))))
    found = {tuple(block) for block, share in zip(blocks, part) if share > 0.6}
    for at, block in enumerate(blocks):
        if part[at] < 0.6 and len(block) >= 2 * SHINGLE and tuple(block) not in found:
            own = list(zip(*(block[n:] for n in range(SHINGLE))))
            share = sum(run in runs for run in own) / len(own)
            if share > 0.7:
                part[at] = share
                found.add(tuple(block))
    return part


def choose(probabilities, lengths):
    """Selects blocks like src/choose.rs."""
    order = np.argsort(-probabilities, kind="stable")
    hit, taken = np.cumsum((probabilities * lengths)[order]), np.cumsum(lengths[order])
    best = np.argmax(2 * hit / (taken + CAUTION * (probabilities * lengths).sum() + 1e-9))
    chosen = np.zeros(len(probabilities), bool)
    chosen[order[: best + 1]] = True
    return chosen


def score(blocks, chosen, truth):
    found = Counter()
    for at in np.flatnonzero(chosen):
        found.update(blocks[at])
    n_found, wanted = sum(found.values()), Counter(truth)
    if not n_found or not truth:
        return float(not n_found and not truth)
    return 2 * sum((found & wanted).values()) / (n_found + len(truth))


def folds_of(kinds, n_folds):
    """Assigns a fold to each page, stratified by page type."""
    random, folds = np.random.RandomState(1), np.zeros(len(kinds), int)
    for kind in sorted(set(kinds)):
        places = np.flatnonzero(kinds == kind)
        random.shuffle(places)
        folds[places] = np.arange(len(places)) % n_folds
    return folds


def export(models, path):
    """Writes the trees of all models as Rust tables."""
    questions, answers, biases = [], [], []
    for model in models:
        model.save_model(str(path) + ".json", format="json")
        learned = json.loads(Path(str(path) + ".json").read_text())
        Path(str(path) + ".json").unlink()
        scale, (bias,) = learned["scale_and_bias"]
        biases.append(bias)
        for tree in learned["oblivious_trees"]:
            splits = [(split["float_feature_index"], split["border"]) for split in tree["splits"]]
            values = [scale * value / len(models) for value in tree["leaf_values"]]
            while len(splits) < DEPTH:      # pad with a condition that is never true
                splits.append((0, 3e38))
                values += values
            questions += splits
            answers += values
    unit = max(abs(value) for value in answers) / 32767
    rows = lambda cells, n: "\n".join("    " + " ".join(cells[at:at + n]) for at in range(0, len(cells), n))
    border = lambda value: np.format_float_positional(np.float32(value), trim="0") if value < 1e38 else "f32::MAX"
    text = f"""//! The trained model. Generated by train/train.py.

use crate::forest::Forest;

/// Predicts the probability that a block belongs to the main content.
pub(crate) static BLOCKS: Forest = Forest {{
    questions: &QUESTIONS,
    answers: &ANSWERS,
    depth: {DEPTH},
    scale: {np.float32(unit)!s},
    bias: {np.float32(np.mean(biases))!s},
}};

#[rustfmt::skip]
static QUESTIONS: [(u16, f32); {len(questions)}] = [
{rows([f"({feature}, {border(value)})," for feature, value in questions], 24)}
];

#[rustfmt::skip]
static ANSWERS: [i16; {len(answers)}] = [
{rows([f"{round(value / unit)}," for value in answers], 64)}
];
"""
    Path(path).write_text(text.replace("],\n];", "];"), "utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="checkout of WCXB with dev/html and dev/ground-truth")
    parser.add_argument("--dump", required=True, help="the example `dump` of this crate, built")
    parser.add_argument("--work", type=Path, required=True, help="folder for what comes in between")
    parser.add_argument("--folds", type=int, default=5, help="folds of the cross validation; 0 for none")
    parser.add_argument("--export", type=Path, help="where the tables go")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    truths = read_truths(args.data)
    lines = write_pages(args.data, truths, args.work)
    pages, features = read_blocks(args.dump, "blocks", args.work, lines)
    n_whole = len(pages)
    pages_again, features_again = read_blocks(args.dump, "again", args.work, lines)
    pages, features = pages + pages_again, np.concatenate([features, features_again])
    is_again = np.arange(len(pages)) >= n_whole
    kinds = np.array([truths[page["id"]][0] for page in pages])
    blocks = [[words(block) for block in page["blocks"]] for page in pages]
    wanted = [truths[page["id"]][1] for page in pages]
    page_of = np.repeat(np.arange(len(pages)), [len(page) for page in blocks])
    part = np.concatenate([labels(own, truth) for own, truth in zip(blocks, wanted)])
    lengths = np.array([len(block) for page in blocks for block in page], float)
    n_wanted = np.array([len(truth) for truth in wanted])
    weights = np.minimum(lengths / (n_wanted[page_of] + 20), 0.05) + 0.0002
    weights *= np.where(is_again[page_of], AGAIN, 1)

    def learn(rows):
        random, chances, models = np.random.RandomState(3), np.minimum(1, weights / HEAVY), []
        for seed in range(N_MODELS):
            drawn = rows & (random.rand(len(weights)) < chances)
            pool = Pool(features[drawn], label=part[drawn], weight=(weights / chances)[drawn])
            models.append(CatBoostClassifier(**PARAMETERS, random_seed=seed).fit(pool))
        return models

    def guess(models, rows):
        sums = np.mean([model.predict(features[rows], prediction_type="RawFormulaVal") for model in models], axis=0)
        return 1 / (1 + np.exp(-sums))

    def report(name, probabilities):
        chosen = [choose(probabilities[page_of == at], lengths[page_of == at]) if own else np.zeros(0, bool)
                  for at, own in enumerate(blocks)]
        scores = np.array([score(own, kept, truth) if own else 0.0 for own, kept, truth in zip(blocks, chosen, wanted)])
        by_kind = {kind: round(scores[(kinds == kind) & ~is_again].mean(), 3) for kind in sorted(set(kinds))}
        print(f"{name}: F1 {scores[~is_again].mean():.4f}", " ".join(f"{kind} {value}" for kind, value in by_kind.items()), flush=True)
        sizes = [np.array([len(block) for block in own], float) for own in blocks]
        lost = np.array([1 - own[kept].sum() / max(own.sum(), 1) for own, kept in zip(sizes, chosen)])[is_again]
        print(f"  without its boilerplate, {np.mean(lost > 0):.3f} of the pages change and {np.mean(lost > LOST_MAX):.3f} lose "
              f"more than {LOST_MAX:.0%}", flush=True)

    if args.folds:
        fold_of = dict(zip((page["id"] for page in pages[:n_whole]), folds_of(kinds[:n_whole], args.folds)))
        folds = np.array([fold_of.get(page["id"], 0) for page in pages])[page_of]
        probabilities = np.zeros(len(features))
        for fold in range(args.folds):
            probabilities[folds == fold] = guess(learn(folds != fold), folds == fold)
        report("cross validated", probabilities)
        np.save(args.work / "probabilities.npy", probabilities)
    if args.export:
        models = learn(np.ones(len(features), bool))
        report("on what it learned from", guess(models, slice(None)))
        export(models, args.export)


main()
