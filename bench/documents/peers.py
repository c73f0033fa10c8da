"""Programs of Python that the decoders are compared with, and two that make PDFs.

`peers.py read NAME PART FILE` prints a JSON line: `html` or `text`, `cells` of tables and `links` where the program gives them apart, and
`seconds` of CPU time; or an `error`. PART is `text` or `tables` of programs whose search for tables takes far longer than the rest, and `all`
of the others. `peers.py make NAME FROM TO` writes a PDF of an HTML file.
"""

import html
import json
import sys
import time


def element(name, text):
    return f"<{name}>{html.escape(text)}</{name}>"


def row(cells):
    return "<tr>" + "".join(element("td", cell or "") for cell in cells) + "</tr>"


def pymupdf_text(path):
    import pymupdf

    began = time.process_time()
    with pymupdf.open(path) as document:
        pages = [page.get_text("xhtml", sort=True) for page in document]
        links = [link["uri"] for page in document for link in page.get_links() if link.get("uri")]
    return {"html": "".join(pages), "links": links, "seconds": time.process_time() - began}


def pymupdf_tables(path):
    import pymupdf

    began = time.process_time()
    cells = []
    with pymupdf.open(path) as document:
        for page in document:
            # None for a page whose search fails.
            found = page.find_tables()
            tables = [table.extract() for table in found.tables] if found else []
            cells += [cell for table in tables for line in table for cell in line if cell]
    return {"cells": cells, "seconds": time.process_time() - began}


def read_pypdf(path):
    import pypdf

    began = time.process_time()
    pages = pypdf.PdfReader(path).pages
    text, links = [], []
    for page in pages:
        text.append(page.extract_text())
        for note in page.get("/Annots") or []:
            action = note.get_object().get("/A")
            if action and "/URI" in action.get_object():
                links.append(str(action.get_object()["/URI"]))
    return {"text": "\n".join(text), "links": links, "seconds": time.process_time() - began}


def pdfplumber_text(path):
    import pdfplumber

    began = time.process_time()
    text, links = [], []
    with pdfplumber.open(path) as document:
        for page in document.pages:
            text.append(page.extract_text() or "")
            links += [link["uri"] for link in page.hyperlinks if link.get("uri")]
            page.close()
    return {"text": "\n".join(text), "links": links, "seconds": time.process_time() - began}


def pdfplumber_tables(path):
    import pdfplumber

    began = time.process_time()
    cells = []
    with pdfplumber.open(path) as document:
        for page in document.pages:
            cells += [cell for table in page.extract_tables() for line in table for cell in line if cell]
            page.close()
    return {"cells": cells, "seconds": time.process_time() - began}


def read_markitdown(path):
    from markdown_it import MarkdownIt
    from markitdown import MarkItDown

    began = time.process_time()
    markdown = MarkItDown().convert(path).text_content
    seconds = time.process_time() - began
    return {"html": MarkdownIt("commonmark").enable("table").render(markdown), "seconds": seconds}


def read_python_docx(path):
    import docx
    from docx.table import Table

    began = time.process_time()
    parts, links = [], []
    for block in docx.Document(path).iter_inner_content():
        if isinstance(block, Table):
            parts.append("<table>" + "".join(row(cell.text for cell in line.cells) for line in block.rows) + "</table>")
            continue
        links += [link.url for link in block.hyperlinks if link.url]
        style = block.style.name if block.style is not None else ""
        level = style.removeprefix("Heading ")
        is_heading = style.startswith("Heading ") and level.isdigit()
        name = f"h{min(int(level), 6)}" if is_heading else "li" if style.startswith("List") else "p"
        parts.append(element(name, block.text))
    return {"html": "".join(parts), "links": links, "seconds": time.process_time() - began}


def read_openpyxl(path):
    import openpyxl

    began = time.process_time()
    book = openpyxl.load_workbook(path, data_only=True)
    parts, links = [], []
    for sheet in book.worksheets:
        parts.append("<table>")
        for line in sheet.iter_rows():
            parts.append(row("" if cell.value is None else str(cell.value) for cell in line))
            links += [cell.hyperlink.target for cell in line if cell.hyperlink and cell.hyperlink.target]
        parts.append("</table>")
    return {"html": "".join(parts), "links": links, "seconds": time.process_time() - began}


READERS = {
    "pymupdf": {"text": pymupdf_text, "tables": pymupdf_tables},
    "pypdf": {"all": read_pypdf},
    "pdfplumber": {"text": pdfplumber_text, "tables": pdfplumber_tables},
    "markitdown": {"all": read_markitdown},
    "python-docx": {"all": read_python_docx},
    "openpyxl": {"all": read_openpyxl},
}


def make_mupdf(source, target):
    import pymupdf

    with open(source, encoding="utf-8") as file:
        story = pymupdf.Story(file.read())
    writer = pymupdf.DocumentWriter(target)
    page = pymupdf.paper_rect("a4")
    more = 1
    while more:
        device = writer.begin_page(page)
        more, _ = story.place(page + (50, 50, -50, -50))
        story.draw(device)
        writer.end_page()
    writer.close()


# What fpdf2 sets. In a cell it takes text alone.
FPDF_TAGS = set("h1 h2 h3 h4 h5 h6 p ul ol li dl dt dd pre blockquote a b i em strong code table tr th td".split())


def fpdf_html(node):
    """What fpdf2 sets of an element. Its own fonts have the characters of Latin-1."""
    tag = node.tag if isinstance(node.tag, str) else ""
    tail = fpdf_text(node.tail)
    if tag in ("", "script", "style", "head"):
        return tail
    if tag in ("td", "th"):
        inner = fpdf_text(" ".join(node.text_content().split()))
    else:
        inner = fpdf_text(node.text) + "".join(map(fpdf_html, node))
    if tag not in FPDF_TAGS or (tag == "a" and "://" not in node.get("href", "")):
        return inner + tail
    href = f' href="{html.escape(node.get("href"))}"' if tag == "a" else ""
    return f"<{tag}{href}>{inner}</{tag}>{tail}"


def fpdf_text(text):
    return html.escape((text or "").encode("latin-1", "replace").decode("latin-1"), quote=False)


def make_fpdf(source, target):
    import fpdf
    import lxml.html

    page = lxml.html.parse(source, lxml.html.HTMLParser(encoding="utf-8")).getroot()
    for table in page.xpath("//table[.//table or ancestor::table]"):
        table.tag = "div"
    document = fpdf.FPDF()
    document.add_page()
    document.set_font("Helvetica", size=11)
    document.write_html(fpdf_html(page.body))
    document.output(target)


MAKERS = {"mupdf": make_mupdf, "fpdf": make_fpdf}


def answer(read, path):
    # What programs print is no answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    try:
        result = read(path)
    except Exception as error:  # whatever a program says of a file is its answer
        result = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(result), file=answers, flush=True)


if __name__ == "__main__":
    task, name, *arguments = sys.argv[1:]
    if task == "make":
        MAKERS[name](*arguments)
    else:
        part, path = arguments
        answer(READERS[name][part], path)
