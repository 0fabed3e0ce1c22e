// `npm run docs`: builds the site of the documents into `site/dist`. `npm run docs -- dev` serves it while you write.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { toFullText, toIndex } from './llms.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const site = fileURLToPath(new URL('../site', import.meta.url));

function run(command, args, cwd) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: 'inherit' });
  if (error !== undefined) throw new Error(`"${command}" did not start: ${error.message}`);
  if (status !== 0) throw new Error(`"${command} ${args.join(' ')}" failed`);
}

function main([mode = 'build']) {
  if (!['build', 'dev', 'preview'].includes(mode)) {
    throw new Error(`"${mode}" is not known; say build, dev or preview`);
  }
  // The generator is a package of its own, so that `npm install` does not bring it to everybody.
  if (!existsSync(`${site}/node_modules/vitepress`)) {
    console.log('Installing the site generator. This happens once.');
    run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], site);
  }
  if (!existsSync(`${root}/dist/index.d.ts`)) run('npm', ['run', 'build', '--silent'], root);
  copyPages();
  run('npx', ['typedoc', '--options', 'typedoc.json'], site);
  run('npx', ['vitepress', mode, '.'], site);
  if (mode === 'build')
    console.log('The site is in site/dist. To look at it: npm run docs -- preview');
}

/** The generator looks for its packages above the pages, so the pages must lie in its folder. */
function copyPages() {
  const pages = `${site}/pages`;
  rmSync(pages, { recursive: true, force: true });
  mkdirSync(`${pages}/public`, { recursive: true });
  const documents = readdirSync(root).filter((name) => name.endsWith('.md'));
  for (const name of ['docs', 'bench/plots', 'bench/RESULTS.md', 'bench/PEERS.md', ...documents]) {
    cpSync(`${root}/${name}`, `${pages}/${name}`, { recursive: true });
  }
  writeFileSync(`${pages}/public/llms.txt`, toIndex(root));
  writeFileSync(`${pages}/public/llms-full.txt`, toFullText(root));
}

try {
  main(process.argv.slice(2));
} catch (error) {
  console.error(`npm run docs: ${error.message}`);
  process.exitCode = 1;
}
