import type { CheckOptions, CheckReport, Problem } from '../../upkeep.ts';
import { ShelfDamaged } from '../index/shelf.ts';
import { toQuipuError } from '../disk/io-error.ts';
import { PACKS_FOLDER } from '../names.ts';
import { fileLengths } from '../recovery/file-lengths.ts';
import { SyncFailure } from '../disk/file-handles.ts';
import type { Writer } from '../commit/writer.ts';
import { BlobVerdicts, type Check, takeSnapshot } from './check.ts';
import { checkAliases } from '../packs/check-aliases.ts';
import { checkChunkLists } from '../packs/check-chunk-lists.ts';
import { checkDocs } from '../docs/check-docs.ts';
import { checkCollected, checkErased, checkHeaders, checkTypes } from './check-single-files.ts';
import { checkHeads } from '../heads/check-heads.ts';
import { checkJournal } from '../journal/check-journal.ts';
import { checkLogs } from '../logs/check-logs.ts';
import { checkOpenTurns } from '../open-turns/check-open-turns.ts';
import { checkPacks } from '../packs/check-packs.ts';
import { checkPatches } from '../patches/check-patches.ts';
import { checkTurns } from '../turns/check-turns.ts';
import { Findings, type Found, staleIndex } from './findings.ts';
import { Quarantine } from './quarantine.ts';
import { repair } from './repair.ts';
import { walkFolder } from '../disk/walk-folder.ts';

/**
 * Reads the whole store beside readers and writers, and reports what is wrong with it. With `repair` the report
 * lists what was found. A check afterwards shows what is left.
 */
export async function checkStore(writer: Writer, options: CheckOptions): Promise<CheckReport> {
  return writer.upkeep('verify', async () => {
    try {
      return await checkAndRepair(writer, options);
    } catch (error) {
      const { root } = writer.core.files;
      throw toQuipuError(error instanceof SyncFailure ? error.cause : error, root);
    }
  });
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
  const check: Check = { writer, core, files: core.files, findings, snapshot, blobs };
  findings.expectBytes(await expectedBytes(check));
  await checkJournal(check);
  await checkHeaders(check);
  await checkTypes(check);
  await checkCollected(check);
  await checkErased(check);
  // Blobs are checked before everything that refers to them.
  const lists = await checkPacks(check);
  await checkChunkLists(check, lists);
  const links = await checkTurns(check);
  await checkOpenTurns(check);
  await checkHeads(check, links);
  await checkPatches(check);
  await checkAliases(check);
  await checkDocs(check);
  await checkLogs(check);
}

async function expectedBytes({ files, snapshot }: Check): Promise<number> {
  let bytes = 0;
  for (const [name, length] of fileLengths(snapshot.tails)) {
    if (!name.startsWith(`${PACKS_FOLDER}/pack-`)) bytes += length;
  }
  for await (const path of walkFolder(files, PACKS_FOLDER)) {
    if (path.endsWith('.pack')) bytes += await files.size(path);
  }
  return bytes;
}
