import { posix } from 'node:path';

/** One block of the lint configuration: which files, and which import texts they may not use. */
export interface LayerBlock {
  readonly files: readonly string[];
  readonly forbidden: readonly RegExp[];
}

interface LintConfig {
  readonly overrides: readonly {
    readonly files: readonly string[];
    readonly rules: Readonly<Record<string, unknown>>;
  }[];
}

/** Reads the layer blocks of the lint configuration, whose comments stand on their own lines. */
export function parseLayerBlocks(text: string): LayerBlock[] {
  const json = text.replaceAll(/^\s*\/\/.*$/gm, '');
  const { overrides } = JSON.parse(json) as LintConfig;
  return overrides.flatMap(({ files, rules }) => {
    const rule = rules['no-restricted-imports'];
    if (!Array.isArray(rule)) return [];
    const [, options] = rule as [string, { patterns: { regex: string }[] }];
    return [{ files, forbidden: options.patterns.map(({ regex }) => new RegExp(regex)) }];
  });
}

/** The folders of `src` that need a layer of their own: the top ones, and each engine. */
export function layerFolders(files: readonly string[]): string[] {
  const folders = new Set<string>();
  for (const file of files) {
    const [, top, second, third] = file.split('/');
    if (top === undefined || second === undefined) continue;
    folders.add(top === 'engine' && third !== undefined ? `engine/${second}` : top);
  }
  return [...folders].toSorted();
}

/** The block whose glob covers exactly this folder. */
export function blockOf(blocks: readonly LayerBlock[], folder: string): LayerBlock | undefined {
  const globs = [`src/${folder}/**`, `src/${folder}/*.ts`];
  return blocks.find((block) => block.files.some((glob) => globs.includes(glob)));
}

/** How a file directly in one folder of `src` names a file directly in another. */
export function importText(from: string, to: string): string {
  const path = posix.relative(`src/${from}`, `src/${to}/x.ts`);
  return path.startsWith('.') ? path : `./${path}`;
}
