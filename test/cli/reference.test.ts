import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import type { QuipuShell } from '../../src/cli/kit/command.ts';
import { readProject } from '../support/project.ts';

const text = readProject('docs/reference/cli.md');
/** The text under each heading of the third level, by heading. */
const sections = new Map(
  text
    .split(/^### /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')), section]),
);

function leaves(command: Command, path: string): [string, Command][] {
  const name = `${path} ${command.name()}`.trim();
  if (command.commands.length === 0) return [[name, command]];
  return command.commands.flatMap((child) => leaves(child, name));
}

const commands = leaves(await createProgram({} as QuipuShell), '');

describe('docs/reference/cli.md', () => {
  it('has a section for every command and no other', () => {
    expect([...sections.keys()].toSorted()).toEqual(commands.map(([name]) => name).toSorted());
  });

  it.each(commands)('names every argument and option of %s', (name, command) => {
    const common = ['--store', '--token', '--json', '--wait'];
    const flags = command.options
      .map((option) => option.long ?? '')
      .filter((flag) => !common.includes(flag));
    const words = command.registeredArguments.map((argument) => `<${argument.name()}>`);
    const section = sections.get(name) ?? '';
    expect([...words, ...flags].filter((word) => !section.includes(word))).toEqual([]);
  });
});
