import { describe, expect, it } from 'vitest';
import { listVerbs } from '../../src/cli/kit/verb.ts';
import { quipu } from '../../src/cli/program.ts';
import { thread } from '../../src/cli/thread/program.ts';
import { notifier } from '../../src/notifier/program.ts';
import { projectPath, readPackageJson } from '../support/project.ts';
import { runShellBlocks } from './run-shell.ts';

// The examples in the help of every verb are run as they stand. Each one finds the same folder, which the seed of its
// noun has made.

const commands = Object.fromEntries(
  Object.entries(readPackageJson().bin).map(([name, path]) => [name, projectPath(path)]),
);

/** Programs that examples call, the files they read, and a store with one context of 130 turns. */
const SEED = `
ROOT=$PWD
mkdir bin work
for name in make my-model poll; do
  printf '#!/bin/sh\\necho made\\n' > bin/$name
  chmod +x bin/$name
done
PATH=$ROOT/bin:$PATH
export NOTIFIER_HOME=$ROOT/work/spool NOTIFIER_IDLE=100ms
cd work
quipu init > made
printf '%s' '{"ok":true}' > fixed.json
printf '\\211PNG' > shot.png
echo '# an issue' > issue.md
echo 'a log' > build.log
mkdir src
echo '{"source":"self","type":"record","content":"x"}' > events.ndjson
echo '{"type":"note","id":"n1"}' > entries.jsonl
for n in $(seq 130); do echo '{"type":"note","payload":{"n":'$n'}}'; done > turns.ndjson
`;

const CONTEXT = `
for n in 1 2 3; do quipu context create --label urgent --meta '{"a":1}'; done
quipu context create --name draft
quipu context append-batch 1 < turns.ndjson
quipu context pin 12
`;

/** What the examples of a noun find besides the files. */
const SEEDS: Readonly<Record<string, string>> = {
  'quipu ': 'quipu context create --label run; quipu backup ../quipu-backup',
  'quipu context': CONTEXT,
  'quipu workflow': `
cp ${projectPath('examples/solve-issue.mjs')} .
quipu workflow add solve-issue.mjs
sed 's/Good/Fine/' solve-issue.mjs > next.mjs
hash=$(quipu workflow add solve-issue.mjs)
quipu workflow add next.mjs
id=$(quipu workflow create solve-issue --prompt "read this")
step=$(quipu workflow step $id --role coder --content "half")
quipu workflow step $id --role coder --content "more"
`,
  'quipu session': `
id=$(quipu session create)
entry=$(quipu session append $id --entry '{"type":"note"}')
cat > artifacts.mjs <<'END'
import { openStore } from '${projectPath('dist/index.js')}';
const store = await openStore('.quipu');
const session = await store.sessions.open(process.argv[2]);
await session.saveArtifact('one\\ntwo', 'bash');
await session.artifacts.saveAgentOutput('0-Plan', '{"steps":["a"]}');
await store.close();
END
node artifacts.mjs $id
quipu session create --json --folder there
cp there/*.jsonl 2026-11-15T10-00-00-000Z_x.jsonl
mkdir -p ../other
`,
  'quipu chat': `
echo '{"quipu_chat":1,"meta":{"session_id":"talk"},"events":[{"schema_version":1,"seq":1,"event_id":"e1","at":"2026-11-15T12:00:00.000Z","type":"message_stream_delta","payload":{"message_id":"half","role":"assistant","delta":"so far "}}]}' > begun.json
chat=$(quipu chat import begun.json)
streaming=half
message=$(quipu chat append $chat --role user --text "the parser")
branch=$(quipu chat fork $chat $message)
batch=$(quipu chat ask $chat --questions '[{"id":"q1","text":"Sure?","kind":"yes_no"}]')
quipu chat export $chat --format json > chat.json
`,
  'quipu blob': `
hash=$(quipu blob create build.log --sha256)
sum=$(sha256sum < build.log | cut -d' ' -f1)
`,
  'quipu queue': `
quipu queue push inbox --batch < events.ndjson
quipu queue subscribe inbox worker-1 --handler true
`,
  'quipu token': 'quipu token create old > token',
  'thread ': `
thread init inbox
thread push --thread inbox --batch < events.ndjson
thread subscribe --thread inbox --consumer worker-1 --handler true
`,
  'notifier ': '',
  'notifier task': `
notifier task add --task-id report --command false
until notifier task list --state error | grep report; do sleep 0.1; done
`,
  'notifier timer':
    'notifier timer add --timer-id nightly --cron "30 2 * * *" --command "make report"',
};

/** Lines that come before an example, because it takes back what the seed holds or needs something more. */
const FIRST: readonly (readonly [RegExp, string])[] = [
  [
    /^quipu (?:import|usage)/,
    `mkdir -p $HOME/.claude/projects/-w old-codex/sessions
echo '{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"hi"}}' > $HOME/.claude/projects/-w/s1.jsonl
echo '{"type":"session_meta","payload":{}}' > old-codex/sessions/rollout-2026-01-01T00-00-00-11111111-1111-4111-8111-111111111111.jsonl
quipu import --yes > imported`,
  ],
  [/^quipu token (?:rm|show)/, 'quipu token create laptop'],
  [
    /^quipu serve --host/,
    `quipu token create laptop
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=x -keyout key.pem -out cert.pem`,
  ],
  [
    /^quipu doctor --server/,
    `quipu serve --port 0 --tcp-port 0 --json > serving &
trap "kill $!" EXIT
until grep tcp serving; do sleep 0.1; done
server=$(jq -r .tcp serving)`,
  ],
  [/^quipu queue subscribe/, 'quipu queue unsubscribe inbox worker-1'],
  [/^thread init/, 'rm -r inbox'],
  [/^thread subscribe/, 'thread unsubscribe --thread inbox --consumer worker-1'],
  [/^notifier timer add/, 'notifier timer remove nightly'],
  [/^quipu chat ask/, 'quipu chat dismiss $chat $batch'],
  [/^quipu chat unarchive/, 'quipu chat archive $chat'],
  [/^quipu chat import/, 'quipu chat rm $chat'],
  [
    /^quipu session import/,
    `quipu session export $id ./take-along; quipu session rm $id
mkdir -p omp-home/sessions/-w; cp there/*.jsonl omp-home/sessions/-w/; quipu session rm $(quipu session list --json | jq -r .id | head -1)`,
  ],
];

/** Needs a database server. */
const ELSEWHERE = /postgres:|^quipu queue work/;
/** Ends by Ctrl-C. */
const ENDLESS = /^(quipu (serve|(?:ui|open) --no-browser|\w+ follow)|notifier start --foreground)/;

const verbs = [
  ...(await listVerbs(quipu)).map(([words, { examples }]) => ({
    words: `quipu ${words}`,
    examples,
  })),
  ...(await listVerbs(thread)).map(([words, { examples }]) => ({
    words: `thread ${words}`,
    examples,
  })),
  ...(await listVerbs(notifier)).map(([words, { examples }]) => ({
    words: `notifier ${words}`,
    examples,
  })),
];

function toBlock(example: string, line: number): { info: string; code: string; line: number } {
  const before = FIRST.filter(([pattern]) => pattern.test(example)).map(([, first]) => first);
  const ports = '$& --port 0 --tcp-port 0';
  // 130: the signal came before the program was ready for it, as on a busy machine.
  const run = ENDLESS.test(example)
    ? `timeout --preserve-status -s INT 3 ${example.replace(/^quipu serve/, ports)} || [ $? = 130 ]`
    : example;
  const leave = example.startsWith('notifier') ? ['notifier stop'] : [];
  const reset = ['cd $ROOT', ...leave, 'rm -rf work', 'cp -a seed work', 'cd work'];
  // In a shell of its own: what an example sets is gone after it.
  const own = ['(', ...before, run.replace('quipu://127.0.0.1:7411', '$server'), ')'];
  return { info: 'sh', code: `${[...reset, ...own].join('\n')}\n`, line };
}

describe.each(Object.entries(SEEDS))('examples of %s', (noun, seed) => {
  it('work as they stand', { timeout: 270_000 }, async () => {
    const [program, name] = noun.split(' ');
    const examples = verbs
      .filter(({ words }) =>
        name === ''
          ? /^\w+ [\w-]+$/.test(words) && words.startsWith(`${program} `)
          : words.startsWith(`${noun} `),
      )
      .flatMap((verb) => verb.examples)
      .filter((example) => !ELSEWHERE.test(example));
    expect(examples.length).toBeGreaterThan(0);
    const blocks = [
      { info: 'sh', code: `${SEED}${seed}\ncd $ROOT\ncp -a work seed\n`, line: 0 },
      ...examples.map((example, index) => toBlock(example, index + 1)),
      { info: 'sh', code: 'notifier stop\n', line: examples.length + 1 },
    ];
    const [first] = await runShellBlocks(blocks, commands);
    const number = Number(/line (\d+)/.exec(first ?? '')?.[1] ?? 0);
    expect(first, examples[number - 1]).toBeUndefined();
  });
});

it('every verb has a seed', () => {
  const nouns = Object.keys(SEEDS);
  const lost = verbs.filter(({ words }) => {
    const [program, ...path] = words.split(' ');
    return !nouns.includes(path.length === 1 ? `${program} ` : `${program} ${path[0]}`);
  });
  expect(lost).toEqual([]);
});
