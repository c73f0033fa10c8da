"""libxml2, through lxml: the results of XPath expressions on a page that is well-formed XML."""

import json
import sys

from lxml import etree


def described(item):
    if isinstance(item, etree._Comment):
        return "comment " + (item.text or "")
    if isinstance(item, etree._Element):
        return "element " + item.get("id")
    # A text or an attribute.
    if item.is_attribute:
        return "attribute " + item.getparent().get("id") + " " + item.attrname
    return "text " + str(item)


def answer(tree, expression):
    try:
        value = tree.xpath(expression)
    except etree.XPathError:
        return "error"
    if isinstance(value, bool):
        return "boolean " + json.dumps(value)
    if isinstance(value, float):
        return "number " + repr(value)
    if isinstance(value, str):
        return "string " + value
    # The document is in no result of lxml. libxml2 promises no order.
    return "nodes " + json.dumps(sorted(described(item) for item in value), ensure_ascii=False)


for line in sys.stdin:
    question = json.loads(line)
    tree = etree.ElementTree(etree.fromstring(question["page"]))
    answers = [answer(tree, expression) for expression in question["expressions"]]
    print(json.dumps(answers), flush=True)
