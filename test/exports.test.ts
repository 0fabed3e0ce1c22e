import { describe, expect, it } from 'vitest';
import { projectPath, readPackageJson, readProject } from './support/project.ts';
import { exportedNames } from './tidy/exported-names.ts';

/** What users can import. A change here is a change of the public surface: say so in the changelog. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  '.': [
    'QuipuError',
    'isOutcomeUnknown',
    'isQuipuError',
    'openStore',
    'restoreStore',
    'toContextId',
    'toHash',
    'toTurnId',
    'type AppendOptions',
    'type BackupReport',
    'type BlobDetails',
    'type BlobInfo',
    'type Blobs',
    'type ByteRange',
    'type CheckCounts',
    'type Context',
    'type ContextDetails',
    'type ContextEvent',
    'type ContextId',
    'type ContextJson',
    'type ContextRemoved',
    'type ContextUpdate',
    'type Contexts',
    'type EncodingName',
    'type EngineStats',
    'type EraseOptions',
    'type EraseReport',
    'type ErrorCode',
    'type ErrorData',
    'type FollowOptions',
    'type GcOptions',
    'type GcReport',
    'type Hash',
    'type ListOptions',
    'type Maintain',
    'type NewContext',
    'type NewTurn',
    'type NewTurnHeader',
    'type OpenOptions',
    'type OpenTurn',
    'type OpenTurnOptions',
    'type Page',
    'type Patch',
    'type PatchEvent',
    'type PatchJson',
    'type PatchOptions',
    'type Pin',
    'type PinOptions',
    'type Problem',
    'type Progress',
    'type ReadOptions',
    'type RemovedContext',
    'type RetainReport',
    'type RetentionPolicy',
    'type Stats',
    'type Store',
    'type StoreEvent',
    'type StoreEventKind',
    'type TombstoneOptions',
    'type Turn',
    'type TurnDiff',
    'type TurnEraseReport',
    'type TurnEvent',
    'type TurnId',
    'type TurnJson',
    'type TurnPage',
    'type UnreadableEvent',
    'type VerifyOptions',
    'type VerifyReport',
    'type WatchBegan',
    'type WatchFilter',
    'type WatchOptions',
  ],
  './client': [
    'QuipuError',
    'connectStore',
    'isOutcomeUnknown',
    'isQuipuError',
    'toContextId',
    'toHash',
    'toTurnId',
    'type ConnectOptions',
    'type ContextId',
    'type ErrorCode',
    'type ErrorData',
    'type Hash',
    'type Store',
    'type TurnId',
  ],
  './browser': [
    'HttpTransport',
    'QuipuError',
    'WebClient',
    'isQuipuError',
    'type ContextJson',
    'type ErrorCode',
    'type ErrorData',
    'type HttpClientOptions',
    'type HttpTransportOptions',
    'type ServerEvent',
    'type Transport',
    'type TurnJson',
    'type WebAppendOptions',
    'type WebFollowOptions',
    'type WebPage',
    'type WebTurn',
    'type WebWatchOptions',
  ],
  './testing': [
    'FaultIo',
    'MapShelf',
    'MemoryIo',
    'ModelEngine',
    'contextsSuite',
    'crashImages',
    'cutFiles',
    'engineSuite',
    'exploreCrashes',
    'flipBytes',
    'mapShelves',
    'planFaults',
    'restoreStaleChunks',
    'type ContextsTarget',
    'type EngineOpening',
    'type EngineTarget',
    'type FaultPlan',
    'type ModelEngineOptions',
  ],
};

describe('the package', () => {
  it('has these entries', () => {
    expect(Object.keys(readPackageJson().exports)).toEqual(Object.keys(NAMES));
  });
});

describe.each(Object.keys(NAMES))('the entry %s', (entry) => {
  const built = readPackageJson().exports[entry]!.default;
  const source = built.replace('./dist/', 'src/').replace(/\.js$/, '.ts');

  it('exports exactly these names', () => {
    expect(exportedNames(readProject(source))).toEqual(NAMES[entry]);
  });

  it('exports them also when built', async () => {
    const values = NAMES[entry]!.filter((name) => !name.startsWith('type '));
    const module = (await import(projectPath(built))) as Record<string, unknown>;
    expect(Object.keys(module).toSorted()).toEqual(values);
  });
});
