import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { CopyReport, LeftOut } from '../../copy-store.ts';
import { defineCommand, withIo } from '../command.ts';
import { Interrupted } from '../interrupt.ts';
import { isAddress } from '../locate-store.ts';
import { toSize } from '../quantity.ts';
import { toFacts } from '../table.ts';
import { withProgress } from '../with-progress.ts';
import type { World } from '../world.ts';

export function copy(world: World): Command {
  return defineCommand(
    'copy',
    'Make one store a copy of another, with the same ids, and compare them. Run again, it goes on where it was cut off.',
    [
      'quipu copy ./.quipu /mnt/disk/quipu',
      'quipu copy ./.quipu postgres://quipu@db.example/quipu',
      'quipu copy postgres://quipu@db.example/quipu ./local --json',
    ],
  )
    .argument('<from>', 'a folder or postgres://…; it is opened alone, so stop whoever uses it')
    .argument('<to>', 'where to: nothing there yet, or what an earlier run has left')
    .action(
      withIo(world, async (io, from: string, to: string) => {
        const signal = world.catchInterrupt();
        const onLeftOut = (leftOut: readonly LeftOut[]): void => {
          if (!io.json) for (const item of leftOut) world.err(toNote(item));
        };
        const report = await withProgress(world, (progress) =>
          world
            .copyStore(placeOf(world, from), placeOf(world, to), { progress, signal, onLeftOut })
            .catch((error: unknown) => {
              if (!signal.aborted) throw error;
              throw new Interrupted('stopped; the same command goes on from here');
            }),
        );
        await (io.json ? io.printJson(report) : world.out(toCopyFacts(report)));
      }),
    );
}

function placeOf(world: World, place: string): string {
  return isAddress(place) || /^file:\/\//i.test(place) ? place : resolve(world.cwd, place);
}

function toNote({ what, count, why }: LeftOut): string {
  return `not copied: ${what} (${count}): ${why}\n`;
}

function toCopyFacts(report: CopyReport): string {
  const { turns, contexts, patches, blobs, blobBytes, logLines, docs } = report;
  return toFacts([
    ['turns', String(turns)],
    ['contexts', String(contexts)],
    ['patches', String(patches)],
    ['blobs', `${blobs}, ${toSize(blobBytes)}`],
    ['log lines', String(logLines)],
    ['documents', String(docs)],
    ['queues', `${report.queues}, ${report.queueEvents} events`],
    ['compared', 'equal'],
  ]);
}
