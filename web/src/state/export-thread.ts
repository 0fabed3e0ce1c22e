import type { Answers } from '../api/answers.ts';
import { ask } from '../api/http.ts';
import { toMarkdown } from '../shapes/markdown-of.ts';
import { say } from './app.ts';

const PAGE = 200;
/** A tab is no place for more; the command line writes threads of any length. */
const CHARS_MAX = 50_000_000;

/** Reads the whole thread and hands it to the browser as a Markdown file. */
export async function exportThread(context: Answers['getContext']): Promise<void> {
  const { id, head, headDepth, title = `Context ${id}` } = context;
  const parts = [`# ${title}\n`];
  let chars = 0;
  try {
    for (let from = 0; head !== '0' && from <= headDepth;) {
      const page = await ask('listTurns', { id, from, to: from + PAGE, limit: PAGE });
      for (const turn of page.turns) {
        const text = turn.tombstone === true ? '(hidden)\n' : toMarkdown(turn);
        chars += text.length;
        parts.push(text);
      }
      if (chars > CHARS_MAX) {
        say(`This thread is too long for a tab. Run: quipu export ${id}`);
        return;
      }
      if (page.turns.length === 0) break;
      from += page.turns.length;
    }
  } catch (error) {
    say((error as Error).message);
    return;
  }
  save(parts.join('\n'), `context-${id}.md`);
  say('The thread is exported.');
}

function save(text: string, name: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/markdown' }));
  const link = document.createElement('a');
  Object.assign(link, { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
