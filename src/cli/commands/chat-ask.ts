import type { Command } from 'commander';
import { invalid } from '../../base/errors.ts';
import type { Question } from '../../chat/payloads.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseJson } from '../parse-argument.ts';
import type { World } from '../world.ts';

interface Options {
  readonly questions: unknown;
  readonly title?: string;
}

export function chatAsk(world: World): Command {
  return defineCommand('ask', 'Open a batch of questions in a chat and print its id.', [
    'quipu chat ask $chat --questions \'[{"id":"q1","text":"Sure?","kind":"yes_no"}]\'',
  ])
    .argument('<chat>', 'id of the chat')
    .requiredOption('--questions <json>', 'a list of {id, text, kind, options}', parseJson)
    .option('--title <text>', 'what they are about')
    .addHelpText('after', '\nKinds: single and multiple (with options), yes_no, text.')
    .action(
      withIo(world, async (io, id: string, { questions, title }: Options) => {
        if (!Array.isArray(questions)) throw invalid('questions', 'is a JSON list');
        await using store = await io.openStore();
        const chat = await store.chats.open(id);
        const named = title === undefined ? {} : { title };
        const batch = await chat.ask(questions as readonly Question[], named);
        await (io.json ? io.printJson({ batch }) : world.out(`${batch}\n`));
      }),
    );
}
