// `npm start`: a short tour of the command on a temporary store.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
if (!existsSync(main)) throw new Error('the package is not built yet; run: npm run build');

const folder = mkdtempSync(join(tmpdir(), 'quipu-tour-'));

/** Shows the command as one would type it, runs it, and returns what it printed. */
function quipu(args, { input = '', shown = 'quipu' } = {}) {
  const typed = args.map((arg) => (/^[\w./:-]+$/.test(arg) ? arg : `'${arg}'`)).join(' ');
  console.log(`\n$ ${shown} ${typed}`);
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    cwd: folder,
    env: { ...process.env, QUIPU_STORE: join(folder, 'store') },
    encoding: 'utf8',
    input,
  });
  process.stdout.write(stdout);
  if (status !== 0) throw new Error(`the command failed: ${stderr}`);
  return stdout.trim();
}

try {
  console.log('Quipu keeps turns in contexts. The tour uses a temporary store.');

  console.log('\n1. A context is a thread. Append to it; each append is durable when it returns.');
  const context = quipu(['context', 'create', '--title', 'fix the parser']);
  const message = (role, text) => JSON.stringify({ role, text });
  const append = (id, ...rest) => quipu(['context', 'append', id, '--type', ...rest]);
  const question = append(context, 'chat.message', '--json-payload', message('user', 'why?'));
  append(context, 'chat.message', '--json-payload', message('assistant', 'an off-by-one'));

  console.log('\n2. Fork any turn, in constant time. Nothing is copied.');
  const branch = quipu(['context', 'fork', question]);
  quipu(['context', 'append', branch, '--type', 'note', '--stdin'], {
    input: 'perhaps the grammar',
    shown: "printf 'perhaps the grammar' | quipu",
  });

  console.log('\n3. Read from the end, for people or for programs.');
  quipu(['context', 'last', context, '-n', '10']);
  quipu(['context', 'last', branch, '-n', '10', '--json']);
  quipu(['context', 'list']);

  console.log('\n4. What it takes on disk.');
  quipu(['stats']);

  console.log(`
That was the tour; its store is gone. In your own folder:

  npx quipu context create --title "my first thread"
  npx quipu --help

The library: import { openStore } from 'quipudb'. See README.md and docs/guide.`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
