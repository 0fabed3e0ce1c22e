import { underLoadSuite } from '../../src/testing/health-suite/under-load.ts';
import { filesTarget } from '../support/files-target.ts';

// Without syncs there is more load. Small segments and caches make checkpoints and reads from disk frequent.
const BUSY = { segmentBytes: 256 * 1024, cacheBytes: 1024 * 1024, checkpointMs: 200 };

underLoadSuite(filesTarget(BUSY), 30_000);
