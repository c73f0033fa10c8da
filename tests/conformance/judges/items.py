"""extruct: the items of structured data on pages, by the names that the server gives their sources."""

import json
import logging
import sys

import extruct

logging.disable(logging.CRITICAL)

for line in sys.stdin:
    question = json.loads(line)
    answers = []
    for page in question["pages"]:
        found = extruct.extract(
            page, base_url=question["url"], syntaxes=["json-ld", "microdata"], errors="log"
        )
        answers.append(
            {"json_ld": found.get("json-ld", []), "microdata": found.get("microdata", [])}
        )
    print(json.dumps(answers), flush=True)
