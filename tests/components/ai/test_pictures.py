"""Pictures of files in what an agent is told."""

from __future__ import annotations

import base64
import io
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from catenary import Engine, Message
from catenary.testing import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from catenary.jsontext import Json


class Looker:
    """An agent that is shown pictures."""

    def __init__(self, engine: Engine, model: ScriptedModel, url: str) -> None:
        self.engine = engine
        self.model = model
        self.url = url

    async def sees(self, *pictures: str, images: list[str] | None = None, **config: Json) -> list[dict[str, Any]]:
        """Show it pictures. Returns: the parts of the user's message, as the service gets them."""
        self.model.add("ok")
        settings = {"url": f"{self.url}/v1", "model": "m", "images": images or [], **config}
        chain = self.engine.load(
            {
                "ruleChain": {"id": f"c{len(self.model.requests)}", "name": "C"},
                "metadata": {"nodes": [{"id": "a", "type": "ai/agent", "configuration": settings}]},
            }
        )
        parts = [{"type": "image_url", "image_url": {"url": url, "detail": "low"}} for url in pictures]
        said = {"messages": [{"role": "user", "content": [{"type": "text", "text": "look"}, *parts]}]}
        message = Message(said, data_type="JSON", metadata={"photo": "b.png"})
        assert (await self.engine.run(chain.id, message)).ok
        return self.model.requests[-1].messages[-1]["content"]  # type: ignore[return-value]


@pytest.fixture
async def looker(outlet: Any, tmp_path: Path) -> AsyncGenerator[Looker]:
    outlet.app = model = ScriptedModel()
    async with Engine(roots=[tmp_path]) as engine:
        yield Looker(engine, model, outlet.url)


def save(path: Path, size: tuple[int, int] = (8, 6), kind: str = "PNG", **fields: Any) -> bytes:
    made = io.BytesIO()
    Image.new("RGB", size, (200, 30, 30)).save(made, kind, **fields)
    path.write_bytes(made.getvalue())
    return made.getvalue()


def opened(url: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))


async def test_a_small_picture_of_a_file_goes_as_it_is(looker: Looker, tmp_path: Path) -> None:
    content = save(tmp_path / "a.png")
    text, picture = await looker.sees("a.png")
    assert text == {"type": "text", "text": "look"}
    assert picture["image_url"] == {
        "url": f"data:image/png;base64,{base64.b64encode(content).decode()}",
        "detail": "low",
    }


@pytest.mark.parametrize("address", ["a b.png", "{root}/a b.png", "file://{root}/a%20b.png"])
async def test_a_picture_is_named_by_its_path_or_as_a_file(looker: Looker, tmp_path: Path, address: str) -> None:
    save(tmp_path / "a b.png")
    _, picture = await looker.sees(address.format(root=tmp_path))
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")


@pytest.mark.parametrize(
    ("kind", "size", "sent"),
    [
        ("JPEG", (3000, 1500), ("JPEG", (1024, 512))),
        ("PNG", (1000, 2048), ("PNG", (500, 1024))),
        ("WEBP", (2048, 2048), ("JPEG", (1024, 1024))),
        ("GIF", (1025, 10), ("JPEG", (1024, 10))),
        ("BMP", (20, 10), ("JPEG", (20, 10))),
    ],
)
async def test_a_large_picture_is_made_smaller(
    looker: Looker, tmp_path: Path, kind: str, size: tuple[int, int], sent: Any
) -> None:
    save(tmp_path / f"a.{kind.lower()}", size, kind)
    _, picture = await looker.sees(f"a.{kind.lower()}")
    shown = opened(picture["image_url"]["url"])
    assert (shown.format, shown.size) == sent
    if shown.format == "JPEG":
        wanted = io.BytesIO()
        Image.new("RGB", (8, 8)).save(wanted, "JPEG", quality=92)
        assert shown.quantization == Image.open(wanted).quantization


async def test_a_photo_is_shown_the_right_way_up(looker: Looker, tmp_path: Path) -> None:
    turned = Image.Exif()
    turned[0x0112] = 6
    save(tmp_path / "a.jpg", (2000, 1000), "JPEG", exif=turned)
    _, picture = await looker.sees("a.jpg")
    assert opened(picture["image_url"]["url"]).size == (512, 1024)


@pytest.mark.parametrize("name", ["none.png", "../out.png", "text.png", "cut.png", "pipe.png", "link.png"])
async def test_one_that_cannot_be_read_is_told_and_the_others_are_sent(
    looker: Looker, tmp_path: Path, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    save(tmp_path / "a.png")
    outside = tmp_path_factory.mktemp("outside") / "out.png"
    save(outside)
    (tmp_path / "link.png").symlink_to(outside)
    (tmp_path / "text.png").write_text("password")
    (tmp_path / "cut.png").write_bytes(save(tmp_path / "big.png", (2000, 2000))[:200])
    os.mkfifo(tmp_path / "pipe.png")
    _, bad, good = await looker.sees(name, "a.png")
    assert bad == {"type": "text", "text": f"[a picture that cannot be read: {name.removeprefix('../')}]"}
    assert good["type"] == "image_url"


@pytest.mark.parametrize("side", [8_100, 10_000, 14_000])
async def test_a_picture_of_too_many_pixels_is_not_unfolded(looker: Looker, tmp_path: Path, side: int) -> None:
    Image.new("1", (side, side)).save(tmp_path / "a.png")
    _, picture = await looker.sees("a.png")
    assert picture["text"] == "[a picture that cannot be read: a.png]"


async def test_addresses_and_data_pass_through(looker: Looker) -> None:
    urls = ["https://x.example/a.png", "http://x.example/b", "data:image/png;base64,QUJD"]
    _, *pictures = await looker.sees(*urls)
    assert [picture["image_url"]["url"] for picture in pictures] == urls


async def test_pictures_of_the_settings_go_with_what_the_user_says(looker: Looker, tmp_path: Path) -> None:
    save(tmp_path / "b.png")
    _, one, two = await looker.sees(images=["https://x.example/a.png", "${metadata.photo}", "${metadata.none}"])
    assert one["image_url"]["url"] == "https://x.example/a.png"
    assert two["image_url"]["url"].startswith("data:image/png")


async def test_a_model_that_does_not_see_is_told_of_the_file_and_it_is_not_read(looker: Looker, tmp_path: Path) -> None:
    save(tmp_path / "a.png")
    _, picture = await looker.sees("a.png", vision=False)
    assert picture == {"type": "text", "text": "[a picture: a.png]"}


async def test_without_the_extra_pictures_go_as_they_are(
    looker: Looker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path / "a.jpg", (2000, 10), "JPEG")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "PIL", None)
        _, picture = await looker.sees("a.jpg")
    assert opened(picture["image_url"]["url"]).size == (2000, 10)
