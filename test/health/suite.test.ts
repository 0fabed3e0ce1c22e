import { healthSuite } from '../../src/testing/health-suite/health-suite.ts';
import { filesTarget } from '../support/files-target.ts';

healthSuite(filesTarget());
