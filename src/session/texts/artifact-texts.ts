import { join } from 'node:path';
import type { Io } from '../../engine/io.ts';
import type { TextDocument, TextMarks, TextPage } from '../../engine/texts.ts';
import { agentIdOf, artifactIdOf } from '../artifacts/artifact-ids.ts';
import { Artifacts } from '../artifacts/artifacts.ts';

// The texts of artifacts. An artifact is written once; its mark is its size and the time of its last change.

/** Stands before the name of the file in the reference to an artifact. */
export const ARTIFACT = 'artifact:';
const READ_BYTES_MAX = 4_194_304;
const lenient = new TextDecoder('utf-8', { ignoreBOM: true });

export interface ArtifactFolder {
  readonly thread: string;
  readonly folder: string;
}

export async function* readArtifacts(
  io: Io,
  { thread, folder }: ArtifactFolder,
  marks: TextMarks,
): AsyncGenerator<TextPage> {
  for (const name of await new Artifacts(io, folder).listFiles()) {
    const stat = await io.stat(join(folder, name));
    if (stat?.kind !== 'file' || name.endsWith('.jsonl') || name.endsWith('.jsonl.torn')) continue;
    const mark = `${stat.size}.${Math.floor(stat.changedMs ?? 0)}`;
    const of = `${thread}/${name}`;
    if ((await marks.get(of)) === mark) continue;
    const document = await loadArtifact(io, { thread, folder, name });
    const changes = document === undefined ? [] : [{ put: document }];
    yield { changes, marks: [[of, mark]], done: 0, total: 0 };
  }
}

/** Undefined for a file that is gone or is no text. */
export async function loadArtifact(
  io: Io,
  { thread, folder, name }: ArtifactFolder & { readonly name: string },
): Promise<TextDocument | undefined> {
  if (name.startsWith('.') || /[/\\]/.test(name)) return undefined;
  const stat = await io.stat(join(folder, name));
  if (stat?.kind !== 'file') return undefined;
  const bytes = await readBeginning(io, join(folder, name), Math.min(stat.size, READ_BYTES_MAX));
  if (bytes.includes(0)) return undefined;
  const id = artifactIdOf(name) ?? agentIdOf(name) ?? name;
  const [, tool] = /^\d+\.(.+)\.log$/.exec(name) ?? [];
  return {
    thread,
    ref: `${ARTIFACT}${name}`,
    id,
    kind: 'artifact',
    depth: Number(artifactIdOf(name) ?? 0),
    at: Math.floor(stat.changedMs ?? 0),
    type: tool ?? 'output',
    value:
      tool === undefined
        ? lenient.decode(bytes)
        : { toolName: tool, output: lenient.decode(bytes) },
  };
}

async function readBeginning(io: Io, path: string, length: number): Promise<Uint8Array> {
  const opened = await io.open(path, 'read');
  try {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, await opened.read(bytes, 0));
  } finally {
    await opened.close();
  }
}
