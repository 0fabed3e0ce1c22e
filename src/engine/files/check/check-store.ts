import type { CheckOptions, CheckReport, Problem } from '../../upkeep.ts';
import type { Writer } from '../commit/writer.ts';
import { bytesBesidePacks, headerOf, OWN_FILES, TRUTHS } from '../core/truths.ts';
import { withCodes } from '../disk/io-error.ts';
import { ShelfDamaged } from '../index/shelf.ts';
import { packBytes } from '../packs/pack-file.ts';
import {
  BlobVerdicts,
  type Check,
  Findings,
  type Found,
  NO_TURNS,
  staleIndex,
  takeSnapshot,
} from '../truth/check.ts';
import { Quarantine } from '../truth/quarantine.ts';
import { can } from '../truth/truth.ts';

/**
 * Reads the whole store beside readers and writers, and reports what is wrong with it. With `repair` the report
 * lists what was found. A check afterwards shows what is left.
 */
export async function checkStore(writer: Writer, options: CheckOptions): Promise<CheckReport> {
  return writer.upkeep('verify', () =>
    withCodes(writer.core.files.root, () => checkAndRepair(writer, options)),
  );
}

async function checkAndRepair(writer: Writer, options: CheckOptions): Promise<CheckReport> {
  const quarantine = await Quarantine.load(writer.core.files);
  const { found, more, counts } = await findAll(writer, options, quarantine);
  if (options.repair) await repair(writer, found, quarantine);
  const problems = found.map(toProblem);
  return { checked: { ...counts }, problems, more, quarantined: quarantine.copies };
}

function toProblem({ what, file, offset, id, severity }: Found): Problem {
  return { what, file, offset, ...(id === undefined ? {} : { id }), severity };
}

/** An unreadable index is reported and rebuilt, and the check starts again. */
async function findAll(
  writer: Writer,
  options: CheckOptions,
  quarantine: Quarantine,
): Promise<Findings> {
  const begin = (): Findings =>
    new Findings(options.progress, (problem) => quarantine.has(problem));
  const first = begin();
  try {
    await checkAll(writer, first);
    return first;
  } catch (error) {
    if (!(error instanceof ShelfDamaged)) throw error;
    await writer.mendBetween(error);
    const second = begin();
    second.add(staleIndex('the index could not be read; it was built again'));
    await checkAll(writer, second);
    return second;
  }
}

async function checkAll(writer: Writer, findings: Findings): Promise<void> {
  const { core } = writer;
  const snapshot = takeSnapshot(writer);
  const blobs = new BlobVerdicts();
  const { files } = core;
  const check: Check = {
    writer,
    core,
    files,
    findings,
    snapshot,
    blobs,
    turns: NO_TURNS,
    moves: new Map(),
  };
  findings.expectBytes(bytesBesidePacks(snapshot.tails) + (await packBytes(files)));
  await checkHeaders(check);
  for (const truth of TRUTHS) await truth.check(check);
}

async function checkHeaders({ files, findings }: Check): Promise<void> {
  for (const { name: file, header } of OWN_FILES) {
    if (header === undefined) continue;
    const right = headerOf(header);
    const { length } = right;
    if (Buffer.compare(right, await files.read(file, 0, length)) === 0) continue;
    const what = 'the header of the file is damaged';
    findings.add({ what, file, offset: 0, length, severity: 'stale', remedy: 'header' });
  }
}

/**
 * Sets damaged bytes aside and rebuilds what can be rebuilt. Nothing is deleted. A file that will be written is set
 * aside before, because someone may have written to it on purpose.
 */
async function repair(
  writer: Writer,
  found: readonly Found[],
  quarantine: Quarantine,
): Promise<void> {
  const written = found.filter(({ severity, remedy }) => {
    const anew = remedy !== undefined && remedy !== 'index' && remedy !== 'journal';
    return severity === 'lost' || anew;
  });
  await quarantine.setAside(written, Date.now());
  await mendHeaders(writer, found);
  const mend = { writer, found, quarantine };
  const menders = TRUTHS.map((truth) => truth.mend).filter(can);
  for (const { after, run } of menders) if (after === 'nothing') await run(mend);
  // The index is rebuilt only when it is wrong: a rebuild from damaged files finds less than an older index has.
  const outdated =
    found.some(({ remedy }) => remedy === 'head') && writer.core.damage.places.length > 0;
  if (outdated || found.some(({ remedy }) => remedy === 'index')) await writer.reindex();
  for (const { after, run } of menders) if (after === 'index') await run(mend);
}

/** Rewrites headers, which never change. */
async function mendHeaders(writer: Writer, found: readonly Found[]): Promise<void> {
  for (const { file: path, remedy } of found) {
    const header = OWN_FILES.find(({ name }) => name === path)?.header;
    if (remedy !== 'header' || header === undefined) continue;
    const data = headerOf(header);
    await writer.exclusively(() => writer.storeWrites([{ kind: 'bytes', path, offset: 0, data }]));
  }
}
