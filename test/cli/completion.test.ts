import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { listVerbs } from '../../src/cli/kit/verb.ts';
import { quipu } from '../../src/cli/program.ts';
import { thread } from '../../src/cli/thread/program.ts';
import { notifier } from '../../src/notifier/program.ts';
import { NotifierRig } from '../notifier/rig.ts';
import { Rig as ThreadRig } from '../queue/command-rig.ts';
import { CliRig } from './rig.ts';

async function print(program: string, shell: string): Promise<string> {
  using quipu = new CliRig();
  await using notifier = new NotifierRig();
  const rigs = { quipu, notifier, thread: new ThreadRig() };
  const { code, out, err } = await rigs[program as keyof typeof rigs].run('completion', shell);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
}

/** What bash offers for the last word of a command line. */
async function complete(...words: string[]): Promise<string[]> {
  const script = `${await print(words[0]!, 'bash')}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _${words[0]}; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const bash = spawnSync('bash', ['--norc', '-uc', script, 'bash', ...words], { encoding: 'utf8' });
  expect(bash).toMatchObject({ status: 0, stderr: '' });
  return bash.stdout.split('\n').filter((line) => line !== '');
}

describe('in bash', () => {
  it.each([
    [['quipu', 'cont'], ['context']],
    [
      ['quipu', 'context', 'app'],
      ['append', 'append-batch'],
    ],
    [['quipu', 'context', 'append', '1', '--ex'], ['--expect-head']],
    [['quipu', 'context', 'append', '1', '--encoding', 'm'], ['msgpack']],
    [
      ['quipu', '--json', 'token', 'create', 'x', '--scope', ''],
      ['read', 'write', 'admin'],
    ],
    [['quipu', 'completion', 'z'], ['zsh']],
    [
      ['thread', 'push', '--type', ''],
      ['message', 'record'],
    ],
    [['notifier', 'task', 'list', '--state', 'e'], ['error']],
    [['notifier', 'ti'], ['timer']],
  ])('%j gives %j', async (words, offered) => {
    expect(await complete(...words)).toEqual(offered);
  });

  it('takes the value of an option for no verb, and leaves other values to the names of files', async () => {
    expect(await complete('quipu', '--store', 'context', 'app')).toEqual([]);
    expect(await complete('quipu', '--store', 'context', 'cont')).toEqual(['context']);
    expect(await complete('quipu', 'blob', 'get', 'x', '--out', '')).toEqual([]);
  });
});

describe.each([
  ['quipu', await listVerbs(quipu)],
  ['thread', await listVerbs(thread)],
  ['notifier', await listVerbs(notifier)],
] as const)('of %s', (program, verbs) => {
  it.each(['bash', 'zsh', 'fish'])('in %s has every verb and option', async (shell) => {
    const script = await print(program, shell);
    for (const [words, { takes = [] }] of verbs) {
      const path = `/${words.replace(' ', '/')}`;
      const lines = script.split('\n').filter((line) => line.includes(path));
      const flags = takes.flatMap((taken) =>
        'long' in taken && taken.long && !taken.hidden ? [taken.long] : [],
      );
      const found = flags.filter((flag) => {
        const word = shell === 'fish' ? `-l ${flag.slice(2)}` : flag;
        return lines.some((line) => line.includes(word));
      });
      expect(found).toEqual(flags);
    }
    // The shell itself checks the syntax where it is installed.
    const { status } = spawnSync(shell, ['-n'], { input: script });
    expect([0, null]).toContain(status);
  });

  it('has no option that takes a value in one verb and none in another', () => {
    const kinds = new Map<string, Set<boolean>>();
    for (const [, { takes = [] }] of verbs) {
      for (const taken of takes) {
        if (!('long' in taken)) continue;
        const kind = kinds.get(taken.flags.split(/[ ,]+/).find((word) => word.startsWith('--'))!);
        const takesValue = taken.required || taken.optional;
        if (kind === undefined) kinds.set(taken.long!, new Set([takesValue]));
        else kind.add(takesValue);
      }
    }
    expect([...kinds].filter(([, kind]) => kind.size > 1).map(([flag]) => flag)).toEqual([]);
  });
});
