#!/usr/bin/env python3
"""Checks the English of comments and pages (CONTRIBUTING.md, "Language"): openings and idioms that are refused, sentences
of more than 25 words, and how often words that readers stumbled over come in 1,000.

usage: check_prose.py [--counts] [--sentences] [PATH]...    default: all that git tracks; exit 1 if something is refused
"""
import pathlib
import re
import subprocess
import sys

OPENING = re.compile(r"(Of|As|What|Those|That|Whose|Where|None)\b")
IDIOM = re.compile(r"\b(those (that|which|who|of)|(?<!so )(?<!not )(?<!than )that of|which of|what (is|the|a|are|was)|but for|gives? up|given up|gave up|ma[dk]e[sn]? again|"
                   r"beyond doubt|the house|wished for)\b", re.IGNORECASE)
# Most in 1,000 words: twice the largest of LevelDB, MLX, ExecuTorch and XNNPACK.
RATES = {"where": 2.8, "what (?:is|the|a)": 0.2, "those": 0.4, "behind": 0.1, "that of": 0.2, "(?:of|by|to) which": 1.4}
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|(?P<line>//[^\n]*)|/\*(?P<block>.*?)\*/|R"(?P<d>\w*)\(.*?\)(?P=d)"', re.DOTALL)
HASH = re.compile(r'"""(?P<block>.*?)"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(?<![$&\w{])(?P<line>#[^\n]*)', re.DOTALL)
KINDS = {**dict.fromkeys((".h", ".hpp", ".c", ".cc", ".cu", ".fbs", ".proto", ".js"), COMMENT),
         **dict.fromkeys((".py", ".sh", ".cmake", ".txt"), HASH), ".md": None}


def comments(path, text):
    """(line, prose) of each comment or paragraph; comments in lines that follow each other are one."""
    if KINDS[path.suffix] is None:
        text = re.sub(r"^(```|~~~).*?^\1", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
        for found in re.finditer(r"(?:^(?!\s*$|    |#|\||<).*\n?)+", text, re.MULTILINE):
            yield text.count("\n", 0, found.start()) + 1, re.sub(r"`[^`]*`", "X", found[0])
        return
    block, first, end = [], 0, -2
    for found in KINDS[path.suffix].finditer(text):
        prose = found["line"] or found["block"]
        if not prose or prose.startswith("#!") or "NOLINT" in prose:
            continue
        line = text.count("\n", 0, found.start()) + 1
        alone = not text[text.rfind("\n", 0, found.start()) + 1:found.start()].strip()
        if block and not (found["line"] and alone and line == end + 1):
            yield first, " ".join(block)
            block = []
        first = first if block else line
        block.append(re.sub(r"`[^`]*`", "X", prose.lstrip("/#!< ").replace("\n", " ")))
        end = line if alone else -2
    if block:
        yield first, " ".join(block)


def main(arguments):
    flags = {a for a in arguments if a.startswith("--")}
    chosen = [a for a in arguments if a not in flags] or ["."]
    listed = [a for a in chosen if pathlib.Path(a).is_file()]
    if folders := [a for a in chosen if a not in listed]:
        tracked = subprocess.run(["git", "ls-files", "-z", *folders], capture_output=True, text=True, check=True).stdout
        listed += filter(None, tracked.split("\0"))
    refused, words, counts = 0, 0, dict.fromkeys(RATES, 0)
    for path in map(pathlib.Path, listed):
        if path.suffix not in KINDS or not path.is_file() or "results" in path.parts or path.name == "check_prose.py":
            continue
        for line, prose in comments(path, path.read_text(errors="replace")):
            words += len(re.findall(r"[A-Za-z']+", prose))
            for word in RATES:
                counts[word] += len(re.findall(rf"\b{word}\b", prose, re.IGNORECASE))
            found = [f"begins with '{m[0]}'" for m in [OPENING.match(prose.strip())] if m]
            found += [f"'{m[0]}'" for m in IDIOM.finditer(prose)]
            if "--sentences" in flags:
                for sentence in re.split(r"(?<=[.:;!?])\s", prose):
                    length = len(re.findall(r"[A-Za-z']+", sentence))
                    found += [f"{length} words: {sentence.strip()[:60]}..."] if length > 25 else []
            for what in found:
                print(f"{path}:{line}: {what}")
            refused += len(found)
    rates = {word: 1000 * count / max(words, 1) for word, count in counts.items()}
    often = [f"'{word}' {rates[word]:.2f} times in 1,000 words, at most {most}" for word, most in RATES.items() if rates[word] > most]
    if "--counts" in flags:
        print(f"{words} words; " + ", ".join(f"{word} {rate:.2f}" for word, rate in rates.items()))
    if words > 20000:  # a rate of little text says nothing
        refused += len(often)
        print(*often, sep="\n")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
