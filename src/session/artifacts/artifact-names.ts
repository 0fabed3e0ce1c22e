const SEGMENT_CHARS_MAX = 64;

/** Makes a name part of a file name: no separators, no dots, never empty. */
export function toSegment(name: string, fallback: string): string {
  const clean = name.replaceAll(/[^A-Za-z0-9_-]+/g, '_').slice(0, SEGMENT_CHARS_MAX);
  return clean.replaceAll(/^_+|_+$/g, '') || fallback;
}

export function toArtifactName(id: string, toolType: string): string {
  return `${id}.${toSegment(toolType, 'tool')}.log`;
}

/** Returns the id in `<id>.<tool>.log`, as it is written; undefined for any other name. */
export function artifactIdOf(name: string): string | undefined {
  return /^(\d+)\..+\.log$/.exec(name)?.[1];
}

/** Returns one more than the highest id. Numbers too large to count on are not ours. */
export function nextArtifactId(names: readonly string[]): number {
  let next = 0;
  for (const name of names) {
    const id = Number(artifactIdOf(name) ?? -1);
    if (Number.isSafeInteger(id)) next = Math.max(next, id + 1);
  }
  return next;
}

/** Returns the id of an agent's output in `<id>.md`. */
export function agentIdOf(name: string): string | undefined {
  return name.startsWith('.') ? undefined : /^(.+)\.md$/.exec(name)?.[1];
}

export function toAgentId(parentId: string | undefined, index: number, name: string): string {
  const own = `${index}-${toSegment(name, 'agent')}`;
  return parentId === undefined ? own : `${parentId}.${own}`;
}

/** Returns one more than the highest index directly below `parentId`, of outputs and of child sessions. */
export function nextAgentIndex(names: readonly string[], parentId: string | undefined): number {
  const prefix = parentId === undefined ? '' : `${parentId}.`;
  let next = 0;
  for (const name of names) {
    if (!name.startsWith(prefix)) continue;
    const [, digits] = /^(\d+)-.*\.(?:md|jsonl)$/.exec(name.slice(prefix.length)) ?? [];
    const index = Number(digits ?? -1);
    if (Number.isSafeInteger(index)) next = Math.max(next, index + 1);
  }
  return next;
}

/** Compares by index, then by name, level by level. */
export function compareAgentIds(a: string, b: string): number {
  const left = a.split('.');
  const right = b.split('.');
  for (const [level, segment] of left.entries()) {
    const other = right[level];
    if (other === undefined) return 1;
    const difference = Number.parseInt(segment, 10) - Number.parseInt(other, 10);
    if (Number.isFinite(difference) && difference !== 0) return difference;
    if (segment !== other) return segment < other ? -1 : 1;
  }
  return left.length - right.length;
}
