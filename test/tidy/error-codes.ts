export interface DocumentedCode {
  readonly code: string;
  readonly fields: readonly string[];
}

/** The codes of `interface ErrorData` and the fields each carries, in the order of the source. */
export function parseErrorData(source: string): DocumentedCode[] {
  const [, body = ''] = /export interface ErrorData \{\n(.*?)\n\}/s.exec(source) ?? [];
  return [...body.matchAll(/^ {2}([A-Z_]+): (.*);$/gm)].map((match) => ({
    code: match[1]!,
    fields: [...match[2]!.matchAll(/(\w+)\??: /g)].map((field) => field[1]!),
  }));
}

/** The same from the document: one heading per code, and its fields in a table or "none". */
export function parseErrorDocs(text: string): DocumentedCode[] {
  const [, ...sections] = text.split(/^## (?=[A-Z_]+$)/m);
  return sections.map((section) => ({
    code: section.slice(0, section.indexOf('\n')),
    fields: [...section.matchAll(/^\| `(\w+)` \|/gm)].map((field) => field[1]!),
  }));
}

/** The codes of the document that do not say what happened and what to do. */
export function codesWithoutAdvice(text: string): string[] {
  const [, ...sections] = text.split(/^## (?=[A-Z_]+$)/m);
  return sections
    .filter(
      (section) => !/^\*\*Cause\.\*\* \S/m.test(section) || !/^\*\*Fix\.\*\* *\S/m.test(section),
    )
    .map((section) => section.slice(0, section.indexOf('\n')));
}
