"""Names of people with the frequencies that they have, and what people are called instead.

Names and frequencies are those of the US census of 1990 (`accord.fields.frequencies`). The lists have the
given names of nine tenths of all people and the surnames of four fifths. What the others have goes to the
rarer half of the lists, so that frequent names are as frequent as they were. Nicknames are our own list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from accord.fields.frequencies import EVERYBODY, NameKind, census_names

Text = NDArray[np.bytes_]
"""Lower-case ASCII of a fixed width: a row is a record, and its letters are a row of a matrix of octets."""

WIDTH = 24
_NICKNAMES = """
abigail abby gail; abraham abe; albert al bert; alexander alex sandy; alexandra alex sandra; alfred al fred;
alice ally; amanda mandy; andrea andie; andrew andy drew; angela angie; ann annie; anna annie; anthony tony;
antonio tony; arthur art; barbara barb babs; benjamin ben benny; bernard bernie; beverly bev; brenda bren;
bradley brad; caroline carrie lina; carolyn carol lynn; catherine cathy kate cat; charles charlie chuck;
charlotte lottie; christian chris; christina chris tina; christine chris tina; christopher chris kit;
clarence clare; clifford cliff; cynthia cindy; daniel dan danny; david dave davy; deborah deb debbie;
debra deb debbie; dennis denny; diana di; diane di; dolores lola; donald don donnie; dorothy dot dottie;
douglas doug; edward ed eddie ted; edwin ed; eleanor ellie nell; elizabeth liz beth betty; emily em;
emma em; ernest ernie; eugene gene; evelyn evie; florence flo; frances fran; francis frank; franklin frank;
frederick fred freddie; gabriel gabe; gary gaz; george georgie; gerald gerry jerry; gertrude trudy;
gloria glo; gregory greg; harold harry hal; heather hettie; helen nell; henry hank harry; howard howie;
isaac ike; jacob jake; jacqueline jackie; james jim jimmy; janet jan; jason jay; jeffrey jeff;
jennifer jen jenny; jeremy jerry; jessica jess jessie; joan joanie; johnathan john; john johnny jack;
jonathan jon; joseph joe joey; josephine jo josie; joshua josh; joyce joy; juan john; judith judy;
julia julie; karen kari; katherine kathy kate kay; kathleen kathy kat; kathryn kathy kate; kenneth ken kenny;
kevin kev; kimberly kim; larry laurie; laura laurie; lawrence larry; leonard len lenny; leslie les;
lillian lily; linda lindy; louis lou; louise lou; manuel manny; margaret maggie peg meg; maria mary;
marilyn lynn; martha marty; martin marty; marvin marv; mary molly polly; matthew matt; melissa missy mel;
melvin mel; michael mike mick; michelle shelly; mildred millie; mitchell mitch; nancy nan; nathan nate;
nathaniel nate; nicholas nick nicky; nicole nicky; norman norm; oliver ollie; pamela pam; patricia pat patty;
patrick pat paddy; pauline polly; peter pete; philip phil; phillip phil; phyllis phyl; rachel rae;
ralph ralphie; randall randy; raymond ray; rebecca becky; reginald reggie; richard rick dick richie;
robert bob rob bobby; roberta bobbie; roger rodge; ronald ron ronnie; rosemary rose; russell russ;
ruth ruthie; samantha sam; samuel sam sammy; sandra sandy; sarah sally; sharon shari; sheila shel;
shirley shirl; stanley stan; stephanie steph; stephen steve; steven steve; stuart stu; susan sue susie;
suzanne sue; sylvia syl; teresa terry tess; theodore ted teddy; theresa terry tess; thomas tom tommy;
timothy tim; valerie val; veronica ronnie; victor vic; victoria vicky tori; vincent vince; virginia ginny;
walter walt wally; wanda wendy; warren ren; wesley wes; william bill will billy; zachary zach
"""


@dataclass(frozen=True)
class Names:
    """Names of one kind, the most frequent first."""

    texts: Text
    shares: NDArray[np.float64]

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        """So many names, as places in the list."""
        return np.searchsorted(np.cumsum(self.shares), rng.random(count), "right").clip(
            max=len(self.texts) - 1
        )


@cache
def census() -> dict[str, Names]:
    """By kind: `female` and `male` given names, and `surname`s."""
    kinds: tuple[NameKind, ...] = get_args(NameKind)
    return {kind: _names(census_names(kind)) for kind in kinds}


def _names(counts: Mapping[str, int]) -> Names:
    shares = np.array(list(counts.values())) / EVERYBODY
    rare = len(shares) // 2
    shares[rare:] += (1 - shares.sum()) / (len(shares) - rare)
    return Names(np.array(list(counts), f"S{WIDTH}"), shares)


@cache
def nicknames() -> tuple[Text, Text]:
    """Names in order, and beside each its nicknames; a name with few has them several times."""
    listed = sorted(line.split() for line in _NICKNAMES.split(";"))
    most = 6  # a multiple of 1, 2 and 3: each nickname of a name is as likely as the others
    return (
        np.array([name for name, *_ in listed], f"S{WIDTH}"),
        np.array([(short * most)[:most] for _, *short in listed], f"S{WIDTH}"),
    )
