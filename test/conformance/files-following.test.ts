import { followingSuite } from '../../src/testing/store-suite/following.ts';
import { filesTarget } from '../support/files-target.ts';

followingSuite(filesTarget());
