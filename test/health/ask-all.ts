import { toContextId, toTurnId } from '../../src/base/brand.ts';
import type { Hash } from '../../src/base/brand.ts';
import { isQuipuError } from '../../src/base/errors.ts';
import { sha256Hex } from '../../src/base/hash.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { TurnFlag } from '../../src/format/turn-record.ts';
import { LOOSE_BLOBS, textOf } from '../crash/read-text.ts';

/** Answers by question. One that was refused with CORRUPT is missing; another refusal is its code. */
export type Answers = ReadonlyMap<string, string>;

/** What there is to ask for, from a store that is whole. */
export interface Questions {
  readonly turns: number;
  readonly contexts: number;
  readonly docs: readonly string[];
  readonly logs: readonly string[];
  readonly blobs: readonly Hash[];
}

const MANY = 1000;

export async function findQuestions(engine: Engine): Promise<Questions> {
  const tips = await engine.tips();
  const turns = Number(tips.turn);
  const blobs = new Set(LOOSE_BLOBS.map(({ hash }) => hash));
  for (let id = 1; id <= turns; id += 1) {
    const turn = await engine.getTurn(toTurnId(id));
    // One that was open when the store was killed is sealed, and its payload made, by opening the store.
    const made = ((turn?.flags ?? 0) & TurnFlag.INTERRUPTED) !== 0;
    if (turn?.payload !== undefined && !made) blobs.add(turn.payload);
    for (const patch of await engine.getPatches([toTurnId(id)])) blobs.add(patch.payload);
  }
  return {
    turns,
    contexts: Number(tips.context),
    docs: await engine.listDocs('', MANY),
    logs: await engine.listLogs('', MANY),
    blobs: [...blobs],
  };
}

export async function askAll(engine: Engine, questions: Questions): Promise<Answers> {
  const answers = new Map<string, string>();
  const ask = async (name: string, question: () => Promise<unknown>): Promise<void> => {
    try {
      answers.set(name, textOf(await question()));
    } catch (error) {
      if (!isQuipuError(error)) throw error;
      if (error.code !== 'CORRUPT') answers.set(name, error.code);
    }
  };
  for (let n = 1; n <= questions.turns; n += 1) {
    const turn = toTurnId(n);
    await ask(`turn ${n}`, () => engine.getTurn(turn));
    await ask(`chain of turn ${n}`, () => engine.walkBack(turn, MANY));
    await ask(`patches of turn ${n}`, () => engine.getPatches([turn]));
  }
  for (let n = 1; n <= questions.contexts; n += 1) {
    await ask(`context ${n}`, () => engine.getContext(toContextId(n)));
  }
  await ask('contexts', () => engine.listContexts({ limit: MANY }));
  await ask('contexts with a label', () => engine.listContexts({ limit: MANY, label: 'a' }));
  await ask('documents', () => engine.listDocs('', MANY));
  for (const name of questions.docs) await ask(`document ${name}`, () => engine.getDoc(name));
  await ask('logs', () => engine.listLogs('', MANY));
  for (const name of questions.logs) {
    await ask(`log ${name}`, () => engine.getLog(name));
    await ask(`lines of log ${name}`, () => engine.readLog(name, 0, MANY));
  }
  for (const hash of questions.blobs) {
    await ask(`blob ${hash}`, async () =>
      sha256Hex((await engine.getBlob(hash)) ?? new Uint8Array()),
    );
  }
  for (const { sha256 } of LOOSE_BLOBS) {
    await ask(`blob of ${sha256}`, () => engine.findBySha256(sha256));
  }
  return answers;
}
