import { expect, it } from 'vitest';
import { projectPath, readPackageJson, readProject } from '../support/project.ts';
import { parseBlocks } from './blocks.ts';
import { runShellBlocks } from './run-shell.ts';

const SKILL = 'skills/quipu-history/SKILL.md';

/** The skill speaks to an agent that has a history. */
const HISTORY = `\`\`\`sh
id=$(quipu context create --title 'Fix the parser' --label bug)
quipu context append $id --type chat.message --json-payload '{"role":"user","text":"The lexer and the parser fail on empty input"}'
quipu context append $id --type chat.message --json-payload '{"role":"tool","name":"run_tests","text":"ok"}'
\`\`\`
`;

it('the skill works as an agent would follow it', { timeout: 120_000 }, async () => {
  const commands = Object.fromEntries(
    Object.entries(readPackageJson().bin).map(([name, path]) => [name, projectPath(path)]),
  );
  const blocks = parseBlocks(`${HISTORY}\n${readProject(SKILL)}`);
  const shell = blocks.filter(({ info }) => info === 'sh');
  expect(shell.length).toBeGreaterThan(4);
  expect(await runShellBlocks(shell, commands)).toEqual([]);
});

it('the skill has a name and says when to use it', () => {
  const [, head = ''] = /^---\n([^]*?)\n---\n/.exec(readProject(SKILL)) ?? [];
  expect(head).toMatch(/^name: quipu-history$/m);
  expect(head).toMatch(/^description: .*Use it when .{40,}$/m);
});
