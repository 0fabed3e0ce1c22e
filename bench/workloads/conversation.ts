import type { Conversations } from '../drivers/driver.ts';
import { openConversations } from '../drivers/open-conversations.ts';
import { percentile, timeEach } from '../figures.ts';
import { holdHeap } from '../hold-heap.ts';
import { Payloads } from '../payloads.ts';
import type { Result, Trial } from './workload.ts';

const CONVERSATIONS = 2;
const FORKS = 10;
const FORK_TURNS = 5;
const PAGE_TURNS = 64;

/**
 * Conversations of `size` turns, each forked 10 times in its middle for 5 turns more, and an eighth as many reads of
 * the newest 64 turns. Code runs in with the first conversation, and the times are those of the last one; the bytes on
 * disk are those of one of them, beside what a store with a single turn takes.
 */
export async function conversation(trial: Trial): Promise<Result> {
  holdHeap();
  const opened = await openConversations(trial.driver, trial.folder);
  const payloads = new Payloads(trial.payloadBytes);
  // Stores set up their files with the first turn.
  await opened.conversations.append(await opened.conversations.create(), payloads.next());
  const bareBytes = await opened.diskBytes();
  let times: Result = {};
  for (let i = 0; i < CONVERSATIONS; i += 1) {
    times = await converse(opened.conversations, payloads, trial);
  }
  await opened.conversations.close();
  const diskBytes = ((await opened.diskBytes()) - bareBytes) / CONVERSATIONS;
  await opened.dispose();
  return { ...times, bareBytes, diskBytes };
}

async function converse(
  conversations: Conversations,
  payloads: Payloads,
  { size }: Trial,
): Promise<Result> {
  const thread = await conversations.create();
  const turns = [...payloads.take(size)];
  const appended: number[] = [];
  for (const turn of turns) {
    appended.push(...(await timeEach(1, () => conversations.append(thread, turn))));
  }

  const middle = size / 2;
  const forked: number[] = [];
  for (let i = 0; i < FORKS; i += 1) {
    const point = await conversations.turnAt(thread, middle);
    const first = payloads.next();
    const others = [...payloads.take(FORK_TURNS - 1)];
    let branch = 0;
    forked.push(
      ...(await timeEach(1, async () => {
        branch = await conversations.fork(point);
        await conversations.append(branch, first);
      })),
    );
    for (const payload of others) await conversations.append(branch, payload);
    const expected = [...turns.slice(middle, middle + 1), first, ...others];
    same(await conversations.values(branch, expected.length), expected);
  }

  const newest = turns.slice(-PAGE_TURNS);
  same(await conversations.values(thread, newest.length), newest);
  const read = await timeEach(size / 8, () => conversations.values(thread, PAGE_TURNS));
  return {
    appendMs: percentile(appended, 0.5),
    forkMs: percentile(forked, 0.5),
    readMs: percentile(read, 0.5),
  };
}

/** A store that gives back something else is not measured. */
function same(values: readonly unknown[], payloads: readonly Buffer[]): void {
  const texts = values.map((value) => JSON.stringify(value));
  if (texts.join() !== payloads.join()) throw new Error('other turns came back than were appended');
}
