import type { Command } from 'commander';
import { invalid } from '../../base/errors.ts';
import type { Answer } from '../../chat/payloads.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseJson } from '../parse-argument.ts';
import type { World } from '../world.ts';

export function chatAnswer(world: World): Command {
  return defineCommand('answer', 'Answer every question of the open batch.', [
    'quipu chat answer $chat $batch --answers \'{"q1":"yes"}\'',
  ])
    .argument('<chat>', 'id of the chat')
    .argument('<batch>', 'id of the batch')
    .requiredOption('--answers <json>', 'an object from question to answer', parseJson)
    .action(
      withIo(world, async (io, id: string, batch: string, options: { answers: unknown }) => {
        const { answers } = options;
        if (typeof answers !== 'object' || answers === null || Array.isArray(answers)) {
          throw invalid('answers', 'is a JSON object from question to answer');
        }
        const given = Object.entries(answers as Record<string, Answer['value']>);
        await using store = await io.openStore();
        const event = await (
          await store.chats.open(id)
        ).answer(
          batch,
          given.map(([question_id, value]) => ({ question_id, value })),
        );
        await (io.json ? io.printJson(event) : world.out(`${event.seq}\n`));
      }),
    );
}
