import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const SKIPPED = new Set(['node_modules', 'dist', '.git']);

/** The absolute path of something in the project. */
export function projectPath(path: string): string {
  return join(ROOT, path);
}

export function readProject(path: string): string {
  return readFileSync(projectPath(path), 'utf8');
}

/** Files under `folder` whose project path matches, sorted, with `/`. A missing folder has none. */
export function listFiles(folder: string, pattern: RegExp): string[] {
  if (statSync(projectPath(folder), { throwIfNoEntry: false }) === undefined) return [];
  const found: string[] = [];
  const pending = [projectPath(folder)];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const inside = join(path, entry.name);
      if (entry.isDirectory() && !SKIPPED.has(entry.name)) pending.push(inside);
      if (entry.isFile()) found.push(relative(ROOT, inside).split(sep).join('/'));
    }
  }
  return found.filter((file) => pattern.test(file)).toSorted();
}

export interface PackageJson {
  readonly name: string;
  readonly scripts: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, { readonly types: string; readonly default: string }>>;
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  /** For users of the exported suites alone. */
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly files: readonly string[];
}

export function readPackageJson(): PackageJson {
  return JSON.parse(readProject('package.json')) as PackageJson;
}
