"""Turns JSON lines on standard input into a Markdown table: `report.py "title" "words about the machine"`."""

import json
import sys


def main():
    title, machine = sys.argv[1], sys.argv[2]
    lines = [json.loads(line) for line in sys.stdin if line.startswith("{")]
    first = lines[0]
    print(f"# {title}\n")
    print(f"{first['rows']:,} x {first['columns']}, euclidean, two threads. {machine}\n")
    print("CPU seconds compare best where the machine is shared; recall is measured on a sample (1 = exact).\n")
    print("| k | program | CPU s | wall s | recall |\n|---|---|---|---|---|")
    for line in sorted(lines, key=lambda line: (line["k"], line["cpu_s"])):
        name = line["program"] + (f" {line['search']}" if "search" in line else "")
        found = line["found"].get("recall")
        recall = "exact" if found is None else f"{found:.4f}"
        print(f"| {line['k']} | {name} | {line['cpu_s']:.2f} | {line['wall_s']:.2f} | {recall} |")


if __name__ == "__main__":
    main()
