import { z } from 'zod';
import type { ContextQuery, Engine } from '../../engine/engine.ts';
import type { ContextRow, LogDamage, SalvagedLog } from '../../engine/rows.ts';
import { MANY_CONTEXTS_MAX, MANY_RECORDS_MAX } from '../../wire/limits.ts';
import type { AnswerHandler } from './call-handler.ts';
import { answer } from './answer.ts';
import type { NamedHandler } from './answer.ts';
import {
  ANSWER_BYTES,
  RECORDS_MAX,
  contextId,
  count,
  hash,
  limit,
  sha256,
  text,
  turnId,
} from './check-args.ts';

/** Rows and lines read at a time, so that large ones do not pile up before they are counted. */
const STEP = 100;

const query = z.strictObject({
  label: text.optional(),
  kind: text.optional(),
  limit,
  cursor: text.optional(),
}) as unknown as z.ZodType<ContextQuery>;

const wanted = z.strictObject({
  contexts: z.array(contextId).max(MANY_CONTEXTS_MAX),
  turns: z.array(turnId).max(MANY_RECORDS_MAX),
  patches: z.array(count).max(MANY_RECORDS_MAX),
});

/** Every read of an engine, except reads of blobs, under its name there. */
export function readCalls(engine: Engine): NamedHandler<AnswerHandler>[] {
  const read = <T>(
    name: string,
    args: z.ZodType<T>,
    run: (args: T) => Promise<unknown>,
  ): NamedHandler<AnswerHandler> => answer(`engine.${name}`, { needs: 'read', args }, run);
  const aTurn = z.tuple([turnId]);
  const someTurns = z.tuple([z.array(turnId).max(RECORDS_MAX)]);
  const aContext = z.tuple([contextId]);
  const aName = z.tuple([text]);
  const names = z.tuple([text, limit, text.optional()]);
  return [
    read('hasBlob', z.tuple([hash]), ([blob]) => engine.hasBlob(blob)),
    read('statBlob', z.tuple([hash]), ([blob]) => engine.statBlob(blob)),
    read('findBySha256', z.tuple([sha256]), ([hex]) => engine.findBySha256(hex)),
    read('getTurn', aTurn, ([turn]) => engine.getTurn(turn)),
    read('walkBack', z.tuple([turnId, limit]), ([from, most]) => engine.walkBack(from, most)),
    read('ancestorAt', z.tuple([turnId, count]), ([of, depth]) => engine.ancestorAt(of, depth)),
    read('commonAncestor', z.tuple([turnId, turnId]), ([a, b]) => engine.commonAncestor(a, b)),
    read('getOpenTurn', aTurn, ([turn]) => engine.getOpenTurn(turn)),
    read('getHead', aContext, ([context]) => engine.getHead(context)),
    read('getContext', aContext, ([context]) => engine.getContext(context)),
    read('listContexts', z.tuple([query]), ([given]) => listContexts(engine, given)),
    read('getPatches', someTurns, ([turns]) => engine.getPatches(turns)),
    read('getFsRoots', someTurns, ([turns]) => engine.getFsRoots(turns)),
    // For clients that are older than `getMany`.
    read('getPatch', z.tuple([count]), async ([seq]) => {
      const { patches } = await engine.getMany({ patches: [seq] });
      return patches[0];
    }),
    read('getMany', z.tuple([wanted]), ([numbers]) => engine.getMany(numbers)),
    read('tips', z.tuple([]), () => engine.tips()),
    read('getLog', aName, ([name]) => engine.getLog(name)),
    read('readLog', z.tuple([text, count, limit]), ([name, from, most]) =>
      readLog(engine, name, from, most),
    ),
    read('salvageLog', z.tuple([text, count, limit]), ([name, from, most]) =>
      salvageLog(engine, name, from, most),
    ),
    read('listLogs', names, ([prefix, most, after]) => engine.listLogs(prefix, most, after)),
    read('getDoc', aName, ([name]) => engine.getDoc(name)),
    read('listDocs', names, ([prefix, most, after]) => engine.listDocs(prefix, most, after)),
    read('stats', z.tuple([]), () => engine.stats()),
  ];
}

/** Gives fewer rows than asked for when their details are large. The cursor continues from there. */
async function listContexts(
  engine: Engine,
  { limit: most, ...query }: ContextQuery,
): Promise<{ rows: ContextRow[]; cursor?: string }> {
  const rows: ContextRow[] = [];
  let bytes = 0;
  let cursor = query.cursor;
  do {
    const step = Math.min(STEP, most - rows.length);
    const page = await engine.listContexts({
      ...query,
      ...(cursor !== undefined && { cursor }),
      limit: step,
    });
    rows.push(...page.rows);
    for (const { meta } of page.rows) bytes += JSON.stringify(meta).length;
    cursor = page.cursor;
  } while (cursor !== undefined && rows.length < most && bytes < ANSWER_BYTES);
  return { rows, ...(cursor !== undefined && { cursor }) };
}

/** `more` says that the read stopped for the bytes, not at the end. */
async function readLog(
  engine: Engine,
  name: string,
  from: number,
  most: number,
): Promise<{ lines: string[]; more: boolean }> {
  const lines: string[] = [];
  let bytes = 0;
  while (lines.length < most) {
    if (bytes >= ANSWER_BYTES) return { lines, more: true };
    const step = Math.min(STEP, most - lines.length);
    const read = await engine.readLog(name, from + lines.length, step);
    for (const line of read) bytes += line.length;
    lines.push(...read);
    if (read.length < step) break;
  }
  return { lines, more: false };
}

async function salvageLog(
  engine: Engine,
  name: string,
  from: number,
  most: number,
): Promise<(SalvagedLog & { more: boolean }) | undefined> {
  const page: (string | LogDamage)[] = [];
  let bytes = 0;
  for (;;) {
    const step = Math.min(STEP, most - page.length);
    const found = await engine.salvageLog(name, from + page.length, step);
    if (found === undefined) return undefined;
    for (const line of found.page) bytes += typeof line === 'string' ? line.length : STEP;
    page.push(...found.page);
    const isWhole = found.page.length < step || page.length === most;
    if (isWhole || bytes >= ANSWER_BYTES) return { ...found, page, more: !isWhole };
  }
}
