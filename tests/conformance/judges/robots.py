"""Google's robots.txt parser: which paths a file allows a crawler."""

import json
import sys

from jwm.robotstxt.googlebot import RobotsMatcher

for line in sys.stdin:
    question = json.loads(line)
    # Octets, which are not always text.
    file = bytes.fromhex(question["file"])
    answers = []
    for path in question["paths"]:
        url = "http://a.example" + path
        matcher = RobotsMatcher()
        answers.append(
            matcher.OneAgentAllowedByRobots(file, question["token"].encode(), url.encode())
        )
    print(json.dumps(answers), flush=True)
