#!/usr/bin/env python3
"""Trains the models of the filter, prints what they reach on pages of domains that they have not
seen, and writes src/model.rs; see README.md.

  train.py --data DIR --dump PROGRAM --work DIR [--folds 5] [--families] [--export src/model.rs]
"""
import argparse, gzip, json, re, subprocess, time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from catboost import CatBoostClassifier, Pool
from rapidfuzz.distance import LCSseq

WORD = re.compile(r"\w+")
SHINGLE = 4
CAUTION = 1.2      # as in src/choose.rs: CAUTION, and CAUTION_OF_BODY
CAUTION_OF_BODY = 0.8
NEWS = "news"      # what pages with the body of an article alone are called
NEWS_WEIGHT = 0.7  # of a page of news in the model of articles
# Roles that are in the labelled text of some data sets and not of others: options decide, not the model.
CONVENTIONS = {"headline", "byline", "date", "lead_image", "caption", "credit"}
OF_BODY = {"", "standfirst"}  # roles of the body of an article
BYTES_MAX = 400_000  # of the tables of both models
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
    """Page id -> (page type, words of the main content, URL, file), for the development split of WCXB, and for
    the pages of news with the body of their article if they are there."""
    truths = {}
    for file in sorted((data / "dev" / "ground-truth").glob("*.json")):
        page = json.loads(file.read_text("utf-8"))
        kind = ((page.get("_internal") or {}).get("page_type") or {}).get("primary", "article")
        kind = "collection" if kind == "category" else kind
        html = data / "dev" / "html" / f"{file.stem}.html.gz"
        truths[file.stem] = (kind, words(page["ground_truth"].get("main_content")), page.get("url") or "https://example.com/", html)
    news = data / "news" / "ground-truth.json"
    for name, page in (json.loads(news.read_text("utf-8")) if news.exists() else {}).items():
        html = data / "news" / "html" / f"{name}.html.gz"
        truths[f"news-{name}"] = (NEWS, words(page.get("articleBody")), page.get("url") or "https://example.com/", html)
    return truths


def domain_of(url, page):
    """The registrable domain of a URL, nearly: two labels, or three below `co.uk` and its like."""
    labels = (urlsplit(url).hostname or page).split(".")
    is_second_level = len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) <= 3
    return ".".join(labels[-3 if is_second_level else -2:])


def write_pages(truths, work, mirrors=True):
    """Writes the pages to `work`; returns the list that the program reads. With mirrors, every other page has a URL
    like one on another host."""
    lines = []
    for at, (page, (_, _, url, file)) in enumerate(truths.items()):
        if mirrors and at % 2:      # like a mirror: only the end of the URL belongs to the page
            url = f"http://127.0.0.1/dev-{at}/" + url.split("://")[-1].partition("/")[2]
        html = work / f"{at}.html"
        html.write_bytes(gzip.decompress(file.read_bytes()))
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


def choose(probabilities, lengths, caution=CAUTION):
    """Selects blocks like src/choose.rs."""
    order = np.argsort(-probabilities, kind="stable")
    hit, taken = np.cumsum((probabilities * lengths)[order]), np.cumsum(lengths[order])
    best = np.argmax(2 * hit / (taken + caution * (probabilities * lengths).sum() + 1e-9))
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


def shingle_parts(blocks, chosen, truth):
    """Precision and recall of the shingles of a page."""
    found = [word for at in np.flatnonzero(chosen) for word in blocks[at]]
    bags = [Counter(zip(*(text[n:] for n in range(SHINGLE)))) for text in (found, truth)]
    hit = sum((bags[0] & bags[1]).values())
    return hit / max(sum(bags[0].values()), 1), hit / max(sum(bags[1].values()), 1)


def folds_of(kinds, domains, n_folds):
    """Assigns a fold to each page: all pages of a domain have the same, and each kind is spread evenly."""
    random, of_domain = np.random.RandomState(1), {}
    load = {kind: np.zeros(n_folds) for kind in set(kinds)}
    groups = {}
    for kind, domain in zip(kinds, domains):
        groups.setdefault(domain, Counter())[kind] += 1
    order = sorted(groups, key=lambda domain: (-sum(groups[domain].values()), domain))
    for domain in order:
        cost = sum((load[kind] + n) / n for kind, n in groups[domain].items())
        best = random.choice(np.flatnonzero(cost == cost.min()))
        of_domain[domain] = best
        for kind, n in groups[domain].items():
            load[kind][best] += n
    return np.array([of_domain[domain] for domain in domains])


def tables(models):
    """The trees of the models as questions, answers, scale and bias."""
    questions, answers, biases = [], [], []
    for model in models:
        file = Path("model.json")
        model.save_model(str(file), format="json")
        learned = json.loads(file.read_text())
        file.unlink()
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
    return questions, [round(value / unit) for value in answers], unit, float(np.mean(biases))


def as_rust(name, prefix, doc, questions, answers, unit, bias):
    """The tables of one model as statics."""
    rows = lambda cells, n: "\n".join("    " + " ".join(cells[at:at + n]) for at in range(0, len(cells), n))
    border = lambda value: np.format_float_positional(np.float32(value), trim="0") if value < 1e38 else "f32::MAX"
    return f"""
/// {doc}
pub(crate) static {name}: Forest = Forest {{
    questions: &{prefix}QUESTIONS,
    answers: &{prefix}ANSWERS,
    depth: {DEPTH},
    scale: {np.float32(unit)!s},
    bias: {np.float32(bias)!s},
}};

#[rustfmt::skip]
static {prefix}QUESTIONS: [(u16, f32); {len(questions)}] = [
{rows([f"({feature}, {border(value)})," for feature, value in questions], 24)}
];

#[rustfmt::skip]
static {prefix}ANSWERS: [i16; {len(answers)}] = [
{rows([f"{answer}," for answer in answers], 64)}
];
""".replace("],\n];", "];")


def export(models, of_articles, path):
    """Writes the trees of both models as Rust tables."""
    made = [tables(models), tables(of_articles)]
    n_bytes = sum(8 * len(questions) + 2 * len(answers) for questions, answers, _, _ in made)
    print(f"tables of {n_bytes} bytes, goal: at most {BYTES_MAX}{', MISSED' if n_bytes > BYTES_MAX else ''}")
    text = """//! The trained models. Generated by train/train.py.

use crate::forest::Forest;

/// Predicts the probability that a block of an article belongs to its main content.
pub(crate) static ARTICLES: &Forest = &OF_ARTICLES;
"""
    text += as_rust("BLOCKS", "", "Predicts the probability that a block belongs to the main content.", *made[0])
    text += as_rust("OF_ARTICLES", "ARTICLE_", "The model of articles.", *made[1])
    Path(path).write_text(text, "utf-8")


class Pages:
    """The pages with the features and labels of their blocks."""

    def __init__(self, args):
        truths = read_truths(args.data)
        lines = write_pages(truths, args.work)
        pages, features = read_blocks(args.dump, "blocks", args.work, lines)
        n_whole = len(pages)
        again, features_again = read_blocks(args.dump, "again", args.work, lines)
        pages += again
        self.features = np.concatenate([features, features_again])
        self.families = next(page["families"] for page in pages if page["families"])
        self.is_again = np.arange(len(pages)) >= n_whole
        self.kinds = np.array([truths[page["id"]][0] for page in pages])
        self.domains = [domain_of(truths[page["id"]][2], page["id"]) for page in pages]
        self.is_article = np.array([page["is_article"] for page in pages])
        self.blocks = [[words(block) for block in page["blocks"]] for page in pages]
        self.roles = [page["roles"] for page in pages]
        self.wanted = [truths[page["id"]][1] for page in pages]
        self.page_of = np.repeat(np.arange(len(pages)), [len(page) for page in self.blocks])
        self.part = np.concatenate([labels(own, truth) for own, truth in zip(self.blocks, self.wanted)])
        self.lengths = np.array([len(block) for page in self.blocks for block in page], float)
        n_wanted = np.array([len(truth) for truth in self.wanted])
        self.weights = np.minimum(self.lengths / (n_wanted[self.page_of] + 20), 0.05) + 0.0002
        self.weights *= np.where(self.is_again[self.page_of], AGAIN, 1)
        self.is_news = (self.kinds == NEWS)[self.page_of]
        is_convention = np.array([role in CONVENTIONS for own in self.roles for role in own], bool)
        self.weights[self.is_news & is_convention] = 0
        self.weights[self.is_news] *= NEWS_WEIGHT
        self.starts = np.searchsorted(self.page_of, np.arange(len(pages) + 1))

    def own(self, values, at):
        """The values of the blocks of a page."""
        return values[self.starts[at]:self.starts[at + 1]]

    def learn(self, rows, columns=slice(None)):
        random, chances, models = np.random.RandomState(3), np.minimum(1, self.weights / HEAVY), []
        for seed in range(N_MODELS):
            drawn = rows & (random.rand(len(self.weights)) < chances)
            weights = self.weights[drawn] / chances[drawn]
            pool = Pool(self.features[drawn][:, columns], label=self.part[drawn], weight=weights)
            models.append(CatBoostClassifier(**PARAMETERS, random_seed=seed).fit(pool))
        return models

    def guess(self, models, rows, columns=slice(None)):
        some = self.features[rows][:, columns]
        sums = np.mean([model.predict(some, prediction_type="RawFormulaVal") for model in models], axis=0)
        return 1 / (1 + np.exp(-sums))

    def cross_validated(self, n_folds, columns=slice(None)):
        """Probabilities of the blocks by models that have seen no page of the domain: of articles by the model
        that has seen news, of other pages by the one that has not."""
        folds = folds_of(self.kinds, self.domains, n_folds)[self.page_of]
        is_article = self.is_article[self.page_of]
        probabilities = np.zeros(len(self.features))
        for fold in range(n_folds):
            is_seen, is_own = folds != fold, folds == fold
            of_articles, of_others = is_own & is_article, is_own & ~is_article
            if of_articles.any():
                probabilities[of_articles] = self.guess(self.learn(is_seen, columns), of_articles, columns)
            if of_others.any():
                probabilities[of_others] = self.guess(self.learn(is_seen & ~self.is_news, columns), of_others, columns)
        return probabilities

    def figures(self, probabilities, caution):
        """Word F1 by kind, and (precision, recall) of shingles of the bodies of news."""
        by_kind, news = {}, []
        for at in np.flatnonzero(~self.is_again):
            own = self.blocks[at]
            chosen = choose(self.own(probabilities, at), self.own(self.lengths, at), caution) if own else np.zeros(0, bool)
            if self.kinds[at] == NEWS:
                chosen = chosen & np.array([role in OF_BODY for role in self.roles[at]], bool)
                news.append(shingle_parts(own, chosen, self.wanted[at]))
            by_kind.setdefault(self.kinds[at], []).append(score(own, chosen, self.wanted[at]) if own else 0.0)
        return by_kind, news

    def report(self, name, probabilities):
        for caution in (CAUTION, CAUTION_OF_BODY):
            by_kind, news = self.figures(probabilities, caution)
            scores = [value for kind, values in by_kind.items() if kind != NEWS for value in values]
            print(f"{name}, caution {caution}: F1 {np.mean(scores):.4f}",
                  " ".join(f"{kind} {np.mean(values):.3f} ({len(values)})" for kind, values in sorted(by_kind.items())), flush=True)
            if news:
                precision, recall = np.mean(news, axis=0)
                print(f"  bodies of news: shingle F1 {2 * precision * recall / (precision + recall):.4f}, "
                      f"precision {precision:.3f}, recall {recall:.3f}", flush=True)
        lost = []
        for at in np.flatnonzero(self.is_again):
            sizes = self.own(self.lengths, at)
            kept = sizes[choose(self.own(probabilities, at), sizes)].sum() if len(sizes) else 0
            lost.append(1 - kept / max(sizes.sum(), 1))
        lost = np.array(lost)
        print(f"  without its boilerplate, {np.mean(lost > 0):.3f} of the pages change and {np.mean(lost > LOST_MAX):.3f} lose "
              f"more than {LOST_MAX:.0%}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with dev/html and dev/ground-truth, and news if there is one")
    parser.add_argument("--dump", required=True, help="the example `dump` of this crate, built")
    parser.add_argument("--work", type=Path, required=True, help="folder for what comes in between")
    parser.add_argument("--folds", type=int, default=5, help="folds of the cross validation; 0 for none")
    parser.add_argument("--families", action="store_true", help="also the figures without each family of features")
    parser.add_argument("--export", type=Path, help="where the tables go")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    pages = Pages(args)
    print(f"{(~pages.is_again).sum()} pages of {len(set(pages.domains))} domains", flush=True)
    is_right = pages.is_article == np.isin(pages.kinds, ["article", NEWS])
    print(f"taken for an article or not as they are: {is_right[~pages.is_again].mean():.3f}")
    if args.folds:
        pages.report("cross validated by domain", pages.cross_validated(args.folds))
        n_features = pages.features.shape[1]
        start = 0
        for name, end in pages.families if args.families else []:
            rest = [at for at in range(n_features) if not start <= at < end]
            pages.report(f"without the family {name}", pages.cross_validated(args.folds, rest))
            start = end
    if args.export:
        every = np.ones(len(pages.features), bool)
        export(pages.learn(~pages.is_news), pages.learn(every), args.export)
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
