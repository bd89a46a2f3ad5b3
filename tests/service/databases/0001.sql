CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.events (
    seq bigint NOT NULL,
    transaction bigint DEFAULT ((pg_current_xact_id())::text)::bigint NOT NULL,
    tenant character varying(64) NOT NULL,
    policy character varying(64) NOT NULL,
    case_id character varying(64) NOT NULL,
    step integer NOT NULL,
    kind character varying(16) NOT NULL,
    at bigint NOT NULL,
    basis bigint,
    key character varying(64),
    request character varying(64),
    body text NOT NULL
);
CREATE SEQUENCE public.events_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.events_seq_seq OWNED BY public.events.seq;
CREATE TABLE public.facts (
    name character varying(64) NOT NULL,
    value text NOT NULL
);
CREATE TABLE public.leases (
    policy character varying(129) NOT NULL,
    holder character varying(64) NOT NULL,
    fence bigint NOT NULL,
    expires double precision NOT NULL
);
CREATE TABLE public.policies (
    tenant character varying(64) NOT NULL,
    name character varying(64) NOT NULL,
    digest character varying(64) NOT NULL,
    spec text NOT NULL,
    agent bytea,
    declared bigint NOT NULL
);
CREATE TABLE public.snapshots (
    policy character varying(129) NOT NULL,
    transaction bigint NOT NULL,
    seq bigint NOT NULL,
    fence bigint NOT NULL,
    data bytea NOT NULL
);
ALTER TABLE ONLY public.events ALTER COLUMN seq SET DEFAULT nextval('public.events_seq_seq'::regclass);
INSERT INTO public.alembic_version VALUES
	('0001');
INSERT INTO public.events VALUES
	(1, 728, 'default', 'lending', '00e8d4a510005b7daf84fd2b1a48', 0, 'opened', 1000000000000002, 0, 'k0-3d3c5f39663eb3e', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":null,"deadline":1000604800000002,"reasons":null}'),
	(2, 730, 'default', 'lending', '00e8d4a510005b7daf84fd2b1a48', 1, 'acted', 1000000000000004, 0, 'k1-b5a59a041a5b77f', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"decline","action_values":[1.5,1.5]}'),
	(3, 732, 'default', 'lending', '00e8d4a510005b7daf84fd2b1a48', 2, 'rewarded', 1000000000000006, NULL, 'k2-2bf6942efdc20c2', 'r', '{"reward":0.0,"use":"learnt"}'),
	(4, 734, 'default', 'lending', '00e8d4a510005b7e98ad9541b004', 0, 'opened', 1000000000000007, 0, 'k3-890e5f5bcae26f8', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":null,"deadline":1000604800000007,"reasons":null}'),
	(5, 736, 'default', 'lending', '00e8d4a510005b7e98ad9541b004', 1, 'acted', 1000000000000009, 1, 'k4-305aa4d6eb8fead', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"approve","action_values":[1.26845929608408,1.5]}'),
	(6, 738, 'default', 'lending', '00e8d4a510005b7e98ad9541b004', 2, 'rewarded', 1000000000000011, NULL, 'k5-11b395ce63ae33f', 'r', '{"reward":1.0,"use":"learnt"}'),
	(7, 739, 'default', 'lending', '00e8d4a510005b7f264ee007efcd', 0, 'opened', 1000000000000013, 1, 'k6-8ca6ca71dd6a940', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":6.0,"deadline":1000604800000013,"reasons":null}'),
	(8, 741, 'default', 'lending', '00e8d4a510005b7f264ee007efcd', 1, 'acted', 1000000000000014, 2, 'k7-9e533d7635db881', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"approve","action_values":[1.26845929608408,1.2693416490252563]}'),
	(9, 742, 'default', 'lending', '00e8d4a510005b7f264ee007efcd', 2, 'rewarded', 1000000000000016, NULL, 'k8-ed69f0db31aa49f', 'r', '{"reward":2.0,"use":"learnt"}'),
	(10, 743, 'default', 'lending', '00e8d4a510005b8018368790d5fa', 0, 'opened', 1000000000000017, 2, 'k9-5369511880bb408', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":6.0,"deadline":1000604800000017,"reasons":null}'),
	(11, 745, 'default', 'lending', '00e8d4a510005b8018368790d5fa', 1, 'acted', 1000000000000019, 3, 'k10-9c1d88b400498cb', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"decline","action_values":[1.26845929608408,1.18143010235383]}'),
	(12, 747, 'default', 'lending', '00e8d4a510005b81e442497f685d', 0, 'opened', 1000000000000020, 3, 'k11-a9a77e646fbd555', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":6.0,"deadline":1000604800000020,"reasons":null}'),
	(13, 748, 'default', 'lending', '00e8d4a510005b81e442497f685d', 1, 'acted', 1000000000000022, 3, 'k12-75b819b45257e40', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"decline","action_values":[1.26845929608408,1.18143010235383]}'),
	(14, 750, 'default', 'lending', '00e8d4a510005b81e442497f685d', 2, 'rewarded', 1000000000000024, NULL, 'k13-aed6788b86b6a1e', 'r', '{"reward":4.0,"use":"learnt"}'),
	(15, 751, 'default', 'lending', '00e8d4a510005b82cc778de6c411', 0, 'opened', 1000000000000025, 3, 'k14-518f442e301972e', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":6.0,"deadline":1000604800000025,"reasons":null}'),
	(16, 753, 'default', 'lending', '00e8d4a510005b82cc778de6c411', 1, 'acted', 1000000000000027, 4, 'k15-7959dbc06a34894', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"decline","action_values":[1.1818944986386604,1.18143010235383]}'),
	(17, 755, 'default', 'lending', '00e8d4a510005b82cc778de6c411', 2, 'rewarded', 1000000000000029, NULL, 'k16-4f8b4360a60db4b', 'r', '{"reward":5.0,"use":"learnt"}'),
	(18, 756, 'default', 'lending', '00e8d4a510005b831eaec492d51d', 0, 'opened', 1000000000000030, 4, 'k17-9e2f147d792a3b4', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":6.0,"deadline":1000604800000030,"reasons":null}'),
	(19, 758, 'default', 'lending', '00e8d4a510005b831eaec492d51d', 1, 'acted', 1000000000000032, 5, 'k18-8d4a932af4e1b0d', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"approve","action_values":[1.1371498253451557,1.18143010235383]}'),
	(20, 760, 'default', 'lending', '00e8d4a510005b831eaec492d51d', 2, 'rewarded', 1000000000000034, NULL, 'k19-8d83ed1e3af49eb', 'r', '{"reward":6.0,"use":"learnt"}'),
	(21, 762, 'default', 'lending', '00e8d4a510005b844963edad7ab3', 0, 'opened', 1000000000000035, 5, 'k20-8108967d221b9be', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":6.0,"deadline":1000604800000035,"reasons":null}'),
	(22, 763, 'default', 'lending', '00e8d4a510005b844963edad7ab3', 1, 'acted', 1000000000000037, 6, 'k21-14c69a301fd320d', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"decline","action_values":[1.1371498253451557,1.1371498253451557]}'),
	(23, 765, 'default', 'lending', '00e8d4a510005b852416dd8ed63a', 0, 'opened', 1000000000000039, 6, 'k22-e17b855ef03227f', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":6.0,"deadline":1000604800000039,"reasons":null}'),
	(24, 767, 'default', 'lending', '00e8d4a510005b852416dd8ed63a', 1, 'acted', 1000000000000040, 6, 'k23-d0256f662b3eefe', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"decline","action_values":[1.1371498253451557,1.1371498253451557]}'),
	(25, 769, 'default', 'lending', '00e8d4a510005b852416dd8ed63a', 2, 'rewarded', 1000000000000042, NULL, 'k24-c18ac5bc68b7be', 'r', '{"reward":8.0,"use":"learnt"}'),
	(26, 770, 'default', 'lending', '00e8d4a510005b8682e2fa1d354f', 0, 'opened', 1000000000000044, 6, 'k25-44efd6f5b33e545', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":6.0,"deadline":1000604800000044,"reasons":null}'),
	(27, 772, 'default', 'lending', '00e8d4a510005b8682e2fa1d354f', 1, 'acted', 1000000000000046, 7, 'k26-84fa165fce38b9b', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"approve","action_values":[1.1091580994000079,1.1371498253451557]}'),
	(28, 774, 'default', 'lending', '00e8d4a510005b8682e2fa1d354f', 2, 'rewarded', 1000000000000048, NULL, 'k27-ce2e3a4b7e4c009', 'r', '{"reward":9.0,"use":"learnt"}'),
	(29, 776, 'default', 'lending', '00e8d4a510005b87dbdac372bc5a', 0, 'opened', 1000000000000049, 7, 'k28-cfec78e7f2475cd', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":6.0,"deadline":1000604800000049,"reasons":null}'),
	(31, 779, 'default', 'lending', '00e8d4a510005b87dbdac372bc5a', 2, 'rewarded', 1000000000000053, NULL, 'k30-cf9b14fa16758c3', 'r', '{"reward":10.0,"use":"learnt"}'),
	(30, 777, 'default', 'lending', '00e8d4a510005b87dbdac372bc5a', 1, 'acted', 1000000000000051, 8, 'k29-6f721e9faad8c0', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"approve","action_values":[1.1091580994000079,1.109396573167891]}'),
	(43, 800, 'default', 'lending', '00e8d4a510005b8cdb275a516f9a', 0, 'opened', 1000000000000074, 11, 'k42-711a5fbae82450', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":6.0,"deadline":1000604800000074,"reasons":null}'),
	(45, 803, 'default', 'lending', '00e8d4a510005b8da217c7beb3f1', 0, 'opened', 1000000000000077, 12, 'k44-583b78d1fc538b6', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":6.0,"deadline":1000604800000077,"reasons":null}'),
	(46, 805, 'default', 'lending', '00e8d4a510005b8da217c7beb3f1', 1, 'acted', 1000000000000079, 12, 'k45-435f21626be4b1', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"decline","action_values":[1.075308087081218,1.075308087081218]}'),
	(48, 808, 'default', 'lending', '00e8d4a510005b8edabd71aaa2c0', 0, 'opened', 1000000000000082, 12, 'k47-a6f436e0d0e8b42', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":6.0,"deadline":1000604800000082,"reasons":null}'),
	(49, 810, 'default', 'lending', '00e8d4a510005b8edabd71aaa2c0', 1, 'acted', 1000000000000083, 13, 'k48-47e1abee12fca4a', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"approve","action_values":[1.0640624999999997,1.075308087081218]}'),
	(50, 812, 'default', 'lending', '00e8d4a510005b8edabd71aaa2c0', 2, 'rewarded', 1000000000000085, NULL, 'k49-346f2651435b000', 'r', '{"reward":17.0,"use":"learnt"}'),
	(32, 781, 'default', 'lending', '00e8d4a510005b8864a8768b31be', 0, 'opened', 1000000000000054, 8, 'k31-145030c28fb25b0', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":6.0,"deadline":1000604800000054,"reasons":null}'),
	(36, 788, 'default', 'lending', '00e8d4a510005b8975b373f870f2', 2, 'rewarded', 1000000000000062, NULL, 'k35-7a55f80795f96c6', 'r', '{"reward":12.0,"use":"learnt"}'),
	(37, 790, 'default', 'lending', '00e8d4a510005b8a61402ba0e8da', 0, 'opened', 1000000000000063, 9, 'k36-783ef313f23fa47', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":6.0,"deadline":1000604800000063,"reasons":null}'),
	(38, 792, 'default', 'lending', '00e8d4a510005b8a61402ba0e8da', 1, 'acted', 1000000000000065, 10, 'k37-55b31268d98177c', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"decline","action_values":[1.0898969495776114,1.0897051337208343]}'),
	(39, 794, 'default', 'lending', '00e8d4a510005b8a61402ba0e8da', 2, 'rewarded', 1000000000000067, NULL, 'k38-8f20ca01f19f9c1', 'r', '{"reward":13.0,"use":"learnt"}'),
	(41, 797, 'default', 'lending', '00e8d4a510005b8b0a9e1ae92d9a', 1, 'acted', 1000000000000070, 11, 'k40-92d7b9115c5a249', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"approve","action_values":[1.075308087081218,1.0897051337208343]}'),
	(42, 799, 'default', 'lending', '00e8d4a510005b8b0a9e1ae92d9a', 2, 'rewarded', 1000000000000073, NULL, 'k41-7dc566c1d18a3f2', 'r', '{"reward":14.0,"use":"learnt"}'),
	(44, 802, 'default', 'lending', '00e8d4a510005b8cdb275a516f9a', 1, 'acted', 1000000000000076, 12, 'k43-a5862e77dc7ba5e', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"decline","action_values":[1.075308087081218,1.075308087081218]}'),
	(47, 807, 'default', 'lending', '00e8d4a510005b8da217c7beb3f1', 2, 'rewarded', 1000000000000080, NULL, 'k46-f72a10117bb842', 'r', '{"reward":16.0,"use":"learnt"}'),
	(53, 816, 'default', 'lending', '00e8d4a510005b8fa3f6c29d6b20', 2, 'rewarded', 1000000000000090, NULL, 'k52-a95de0d64e74432', 'r', '{"reward":18.0,"use":"learnt"}'),
	(54, 818, 'default', 'lending', '00e8d4a510005b9020c86490e7df', 0, 'opened', 1000000000000091, 14, 'k53-c14b163e661de46', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":6.0,"deadline":1000604800000091,"reasons":null}'),
	(55, 820, 'default', 'lending', '00e8d4a510005b9020c86490e7df', 1, 'acted', 1000000000000094, 15, 'k54-3d88395d3a750d8', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"decline","action_values":[1.0640624999999997,1.0551346458546358]}'),
	(33, 783, 'default', 'lending', '00e8d4a510005b8864a8768b31be', 1, 'acted', 1000000000000057, 9, 'k32-c301cd3891e9b0b', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"decline","action_values":[1.1091580994000079,1.0897051337208343]}'),
	(34, 785, 'default', 'lending', '00e8d4a510005b8975b373f870f2', 0, 'opened', 1000000000000058, 9, 'k33-1dcdb6a23d81034', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":6.0,"deadline":1000604800000058,"reasons":null}'),
	(35, 787, 'default', 'lending', '00e8d4a510005b8975b373f870f2', 1, 'acted', 1000000000000061, 9, 'k34-986f5307d3fa405', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"decline","action_values":[1.1091580994000079,1.0897051337208343]}'),
	(40, 795, 'default', 'lending', '00e8d4a510005b8b0a9e1ae92d9a', 0, 'opened', 1000000000000069, 10, 'k39-113e5ddfb8e0e81', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":6.0,"deadline":1000604800000069,"reasons":null}'),
	(51, 813, 'default', 'lending', '00e8d4a510005b8fa3f6c29d6b20', 0, 'opened', 1000000000000087, 13, 'k50-6cdd7850f2ad3c2', 'r', '{"free":{},"buy":["income","history","age"],"purpose":0,"price":6.0,"deadline":1000604800000087,"reasons":null}'),
	(52, 815, 'default', 'lending', '00e8d4a510005b8fa3f6c29d6b20', 1, 'acted', 1000000000000088, 14, 'k51-b5e49b0df9af92d', 'r', '{"values":{"income":"low","history":"clean","age":33},"costs":{"income":2.0,"history":2.0,"age":2.0},"unavailable":[],"available":null,"action":"approve","action_values":[1.0640624999999997,1.0642003676470566]}');
INSERT INTO public.facts VALUES
	('store', '5d3791bc6765483d98131572b0bcbacb');
INSERT INTO public.leases VALUES
	('default/lending', 'keeper', 1, 1794841941.1528);
INSERT INTO public.policies VALUES
	('default', 'lending', 'bc0ca38747fb841e3a8c607073cb64478f646624434f7373ac439efa0f6ed830', '{"name": "lending", "tenant": "default", "policy": "linucb", "parameters": {}, "seed": 1, "features": [{"name": "income", "levels": ["low", "high"], "price": 0.4, "free": false, "edges": [], "columns": [], "other": null}, {"name": "history", "levels": ["none", "clean", "arrears"], "price": 1.5, "free": false, "edges": [], "columns": [], "other": null}, {"name": "age", "levels": ["young", "middle", "old"], "price": null, "free": false, "edges": [30.0, 60.0], "columns": [], "other": null}], "actions": ["decline", "approve"], "rewards": {"unit": "EUR", "low": -900.0, "high": 120.0}, "reward_rule": {"rule": "first", "deadline": 604800.0, "default": null, "learn_late": false}}', NULL, 1794841937129045);
INSERT INTO public.snapshots VALUES
	('default/lending', 820, 55, 1, '\x7468726966747920736e617073686f7420303030310ad0d6765d49e9232572d3fc9ba43c5b6de03f2a44b84da88b1759c414b10e1284504b0304140000000000000021005d26a14dc4070000c40700000d0000006d616e69666573742e6a736f6e7b226d61676963223a2274687269667479222c2276657273696f6e223a312c22636f6e74656e74223a7b226b696e64223a227365727669636520736e617073686f74222c2273746f7265223a223564333739316263363736353438336439383133313537326230626362616362222c2273706563223a2262633063613338373437666238343165336138633630373037336362363434373866363436363234343334663733373361633433396566613066366564383330222c22706f6c696379223a2264656661756c742f6c656e64696e67222c226c617374223a5b3832302c35352c2230306538643461353130303035623930323063383634393065376466222c315d2c226361736573223a5b5b2230306538643461353130303035623830313833363837393064356661222c325d2c5b2230306538643461353130303035623834343936336564616437616233222c325d2c5b2230306538643461353130303035623838363461383736386233316265222c325d2c5b2230306538643461353130303035623863646232373561353136663961222c325d2c5b2230306538643461353130303035623930323063383634393065376466222c325d5d2c22746f74616c73223a7b22636f756e7473223a7b226f70656e6564223a32302c226163746564223a32302c227265776172646564223a31352c227265776172646564206c6561726e74223a31352c226c6561726e74223a31357d2c22726577617264223a3133352e302c227370656e64223a3132302e302c226c6167223a322e39303030303030303030303030303034652d30352c226c616773223a5b31352c302c302c302c302c302c302c302c305d2c22626f75676874223a7b22696e636f6d65223a32302c22686973746f7279223a32302c22616765223a32307d2c22756e617661696c61626c65223a7b7d2c227370656e645f6f6e223a7b22696e636f6d65223a34302e302c22686973746f7279223a34302e302c22616765223a34302e307d2c22736572696573223a5b3234302c313030303030302c5b5b313030303030303030302c32302e302c32302e302c31352e302c3133352e302c3132302e305d5d5d2c22726563656e74223a5b5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d2c5b22696e636f6d65222c22686973746f7279222c22616765225d5d2c226c617465223a5b5d2c226e6f7469636564223a7b7d2c226e6f7469636573223a5b5d2c226c6f6f6b6564223a307d7d2c226d656d62657273223a7b22706c616365732e6e7079223a2265373334646163353565613966626265373832616632643863303263336335393932313331393036323238616662326161616631333764366633656437346462222c22696e7665727365732e6e7079223a2266636439336633393136353032663433633862636633613261356162363130316534363635613164373936656264633935333364383531653630643331393466222c22746172676574732e6e7079223a2264396465623636653063666162643436336233343463373030626236356262303038633832343763373363643864343732363265623136336664346539646636222c227468657461732e6e7079223a2233343865653831626432383862373431633534623433363632383564313736303839613763313439643732306132393561663032356164383036626436663062222c22736572766963652e706169642e6e7079223a2265356235643465623464326263396433336561613538666236666336386464333937616639396563373636303639613631396639303030303736333930386462222c22736572766963652e636f756e74732e6e7079223a2233626336386437656362393335396365373763343062326439336436306137363163633833313933636233633066383837366637366434393830626233663239227d2c22736861323536223a2230626636613739396336346638613230306365396134643761616334316133356337666562663130316638643837366436306165663131613136363734343162227d504b030414000000000000002100c09567c880000000800000000a000000706c616365732e6e7079934e554d5059010076007b276465736372273a20273c6938272c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a2028302c292c207d2020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020200a504b0304140000000000000021007b0ee3d110010000100100000c000000696e7665727365732e6e7079934e554d5059010076007b276465736372273a20273c6638272c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a2028322c20332c2033292c207d202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020200a000000000080ec3f000000000000ccbf010000000000ccbf000000000000ccbf000000000000e23f010000000000dcbf010000000000ccbf010000000000dcbf010000000000e23fe4c78f1f3f7eec3fe0c08103070eccbfe1c08103070eccbfe0c08103070eccbf901f3f7efcf8e13fe1c08103070edcbfe1c08103070eccbfe1c08103070edcbf911f3f7efcf8e13f504b03041400000000000000210083dd0b6bb0000000b00000000b000000746172676574732e6e7079934e554d5059010076007b276465736372273a20273c6638272c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a2028322c2033292c207d202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020200af0eeeeeeeeee1840f0eeeeeeeeee2840f0eeeeeeeeee28408b89898989891c408b89898989892c408b89898989892c40504b0304140000000000000021004411ebc5b0000000b00000000a0000007468657461732e6e7079934e554d5059010076007b276465736372273a20273c6638272c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a2028322c2033292c207d202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020200ae0eeeeeeeeeeb83fe0eeeeeeeeeec83f00efeeeeeeeec83fe035bbc5da04b93f0036bbc5da04c93f4036bbc5da04c93f504b030414000000000000002100fc764c3db0000000b000000010000000736572766963652e706169642e6e7079934e554d5059010076007b276465736372273a20273c6638272c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a2028322c2033292c207d202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020200a0000000000003e400000000000003e400000000000003e400000000000002e400000000000002e400000000000002e40504b030414000000000000002100761f9b52900000009000000012000000736572766963652e636f756e74732e6e7079934e554d5059010076007b276465736372273a20273c6938272c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a2028322c292c207d2020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020200a0f000000000000000f00000000000000504b01021403140000000000000021005d26a14dc4070000c40700000d00000000000000000000008001000000006d616e69666573742e6a736f6e504b0102140314000000000000002100c09567c880000000800000000a00000000000000000000008001ef070000706c616365732e6e7079504b01021403140000000000000021007b0ee3d110010000100100000c0000000000000000000000800197080000696e7665727365732e6e7079504b010214031400000000000000210083dd0b6bb0000000b00000000b00000000000000000000008001d1090000746172676574732e6e7079504b01021403140000000000000021004411ebc5b0000000b00000000a00000000000000000000008001aa0a00007468657461732e6e7079504b0102140314000000000000002100fc764c3db0000000b00000001000000000000000000000008001820b0000736572766963652e706169642e6e7079504b0102140314000000000000002100761f9b5290000000900000001200000000000000000000008001600c0000736572766963652e636f756e74732e6e7079504b050600000000070007009c010000200d00000f00746872696674792061726368697665');
SELECT pg_catalog.setval('public.events_seq_seq', 55, true);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_case_step UNIQUE (case_id, step);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_key UNIQUE (tenant, key);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.facts
    ADD CONSTRAINT facts_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (policy);
ALTER TABLE ONLY public.policies
    ADD CONSTRAINT policies_pkey PRIMARY KEY (tenant, name);
ALTER TABLE ONLY public.snapshots
    ADD CONSTRAINT snapshots_pkey PRIMARY KEY (policy, transaction, seq);
CREATE INDEX events_order ON public.events USING btree (transaction, seq);
