"""Answers of a program to long rows of questions, kept in a file as they come, so that a run that was ended goes on where it
stopped. A line a question, as JSON; those of another program (by the SHA-256 of its file) are not taken for this one's."""
import hashlib
import json
import os


class KeptAnswers:
    def __init__(self, path, program):
        with open(program, "rb") as file:
            self.program = hashlib.sha256(file.read()).hexdigest()[:16]
        self.answers = {}
        self.file = None
        if not path:
            return
        path = os.path.abspath(path)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    if not line.endswith("\n"):  # the run was ended while it wrote
                        break
                    entry = json.loads(line)
                    if entry["program"] == self.program:
                        self.answers[entry["question"]] = entry["answer"]
        self.file = open(path, "a", encoding="utf-8")

    def ask(self, question, answer):
        """What was kept for the text `question`, or what answer() says, which is kept."""
        if question not in self.answers:
            self.answers[question] = answer()
            if self.file:
                entry = {"program": self.program, "question": question, "answer": self.answers[question]}
                self.file.write(json.dumps(entry) + "\n")
                self.file.flush()
        return self.answers[question]
