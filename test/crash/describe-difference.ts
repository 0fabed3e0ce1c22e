/** Where two long texts part, with what stands around it. */
export function describeDifference(found: string, promised: readonly string[]): string {
  const [nearest = ''] = promised.toSorted((a, b) => partAt(found, b) - partAt(found, a));
  const at = partAt(found, nearest);
  const around = (text: string): string => text.slice(Math.max(0, at - 200), at + 200);
  return `not one of ${promised.length} right states\nfound …${around(found)}\nright …${around(nearest)}`;
}

function partAt(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}
