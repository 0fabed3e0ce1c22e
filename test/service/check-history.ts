// Judges what happened to one store while many processes appended to it: what each of them asked for and was
// told, with the times of both, against what the store holds in the end.
//
// Appends to a context go behind its head, whatever that is, so the turns of a context in the order of their depth
// are the order in which they took effect. It is the right one if whatever was acknowledged before another
// request began stands before it, and if whoever looked at the head saw all that was acknowledged before, and
// nothing that was asked for later.

/** One request. Times are of one clock for all processes. */
interface Asked {
  readonly context: string;
  readonly invokedAt: bigint;
  /** Undefined when no answer came: the process was killed, or told that the outcome is unknown. */
  readonly answeredAt?: bigint;
}

export interface AppendAsked extends Asked {
  readonly kind: 'append';
  /** Unique, and also the payload. */
  readonly name: string;
  readonly turn?: string;
  readonly parent?: string;
  readonly depth?: number;
  /** True when it was told that nothing was done. */
  readonly failed?: boolean;
}

export interface HeadAsked extends Asked {
  readonly kind: 'head';
  readonly turn: string;
  /** -1 for a context without turns. */
  readonly depth: number;
}

export type Operation = AppendAsked | HeadAsked;

export interface FoundTurn {
  readonly id: string;
  readonly parent: string;
  readonly depth: number;
  readonly name: string;
}

/** The turns of every context, from the root to the head. */
export type FoundChains = ReadonlyMap<string, readonly FoundTurn[]>;

/** What is wrong, in words; empty when nothing is. */
export function checkHistory(operations: readonly Operation[], chains: FoundChains): string[] {
  const appends = operations.filter((one) => one.kind === 'append');
  const heads = operations.filter((one) => one.kind === 'head');
  const byName = new Map(appends.map((append) => [append.name, append]));
  return [
    ...checkShape(chains),
    ...checkTurns(byName, chains),
    ...checkAnswers(appends, chains),
    ...[...chains].flatMap(([context, chain]) => [
      ...checkOrder(chain, byName),
      ...checkHeads(
        heads.filter((head) => head.context === context),
        chain,
        byName,
      ),
    ]),
  ];
}

/** Each context is one chain without a gap, its ids rise, and no id is in two of them. */
function checkShape(chains: FoundChains): string[] {
  const problems: string[] = [];
  const owners = new Map<string, string>();
  for (const [context, chain] of chains) {
    for (const [depth, turn] of chain.entries()) {
      const before = chain[depth - 1];
      const isLinked = turn.depth === depth && turn.parent === (before?.id ?? '0');
      if (!isLinked) problems.push(`context ${context} is broken at turn ${turn.id}`);
      if (before !== undefined && BigInt(before.id) >= BigInt(turn.id)) {
        problems.push(`turn ${turn.id} has a lower id than the one before it`);
      }
      const owner = owners.get(turn.id);
      if (owner !== undefined)
        problems.push(`id ${turn.id} is in contexts ${owner} and ${context}`);
      owners.set(turn.id, context);
    }
  }
  return problems;
}

/** Everything that is there was asked for, there, once, and not reported as refused. */
function checkTurns(byName: ReadonlyMap<string, AppendAsked>, chains: FoundChains): string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const [context, chain] of chains) {
    for (const { name, id } of chain) {
      const asked = byName.get(name);
      if (asked?.context !== context) problems.push(`nobody asked for ${name} in ${context}`);
      if (asked?.failed === true) problems.push(`${name} is there and was reported as refused`);
      if (seen.has(name)) problems.push(`${name} is there twice, also as turn ${id}`);
      seen.add(name);
    }
  }
  return problems;
}

/** What was acknowledged is there, as it was acknowledged, and no id was given to two. */
function checkAnswers(appends: readonly AppendAsked[], chains: FoundChains): string[] {
  const problems: string[] = [];
  const given = new Map<string, string>();
  for (const { name, context, turn, parent, depth } of appends) {
    if (turn === undefined || depth === undefined) continue;
    const other = given.get(turn);
    if (other !== undefined) problems.push(`id ${turn} was given to ${other} and to ${name}`);
    given.set(turn, name);
    const found = chains.get(context)?.[depth];
    const isKept = found?.id === turn && found.name === name && found.parent === parent;
    if (!isKept) problems.push(`${name} was acknowledged as turn ${turn} and is lost`);
  }
  return problems;
}

/** Nothing stands before what was acknowledged before it was asked for. */
function checkOrder(
  chain: readonly FoundTurn[],
  byName: ReadonlyMap<string, AppendAsked>,
): string[] {
  const problems: string[] = [];
  let latest: AppendAsked | undefined;
  for (const { name } of chain) {
    const asked = byName.get(name);
    if (asked === undefined) continue;
    if (latest !== undefined && (asked.answeredAt ?? latest.invokedAt) < latest.invokedAt) {
      problems.push(`${latest.name} stands before ${name}, which was acknowledged before`);
    }
    if (latest === undefined || asked.invokedAt > latest.invokedAt) latest = asked;
  }
  return problems;
}

/** Who looks sees what was acknowledged, or seen, before, and nothing that was asked for after. */
function checkHeads(
  heads: readonly HeadAsked[],
  chain: readonly FoundTurn[],
  byName: ReadonlyMap<string, AppendAsked>,
): string[] {
  const problems: string[] = [];
  for (const { turn, depth, answeredAt = 0n } of heads) {
    const found = chain[depth];
    if (depth < 0) continue;
    if (found?.id !== turn)
      problems.push(`a head was turn ${turn} at depth ${depth}, now it is not`);
    const asked = found && byName.get(found.name);
    if (asked !== undefined && asked.invokedAt > answeredAt) {
      problems.push(`turn ${turn} was seen before it was asked for`);
    }
  }
  const known = [
    ...heads.map((head) => ({ at: head.answeredAt, depth: head.depth })),
    ...chain.map(({ name, depth }) => ({ at: byName.get(name)?.answeredAt, depth })),
  ].filter((one): one is { at: bigint; depth: number } => one.at !== undefined);
  known.sort((a, b) => (a.at < b.at ? -1 : 1));
  let next = 0;
  let least = -1;
  for (const head of heads.toSorted((a, b) => (a.invokedAt < b.invokedAt ? -1 : 1))) {
    for (; next < known.length && known[next]!.at < head.invokedAt; next += 1) {
      least = Math.max(least, known[next]!.depth);
    }
    if (head.depth < least) {
      problems.push(
        `a head went back: depth ${head.depth} was seen after depth ${least} was known`,
      );
    }
  }
  return problems;
}
